package lsp

import "encoding/json"

// What is said, as far as it matters here.
// https://microsoft.github.io/language-server-protocol/specifications/lsp/3.17/specification/

// hi is what a client says first.
func hi(root string) map[string]any {
	uri := addressOf(root)
	return map[string]any{
		"processId": nil, "clientInfo": map[string]string{"name": "loom"}, "rootUri": uri,
		"workspaceFolders": []map[string]string{{"uri": uri, "name": "workspace"}},
		"capabilities": map[string]any{
			"general":   map[string]any{"positionEncodings": []string{"utf-8", "utf-16"}},
			"window":    map[string]any{"workDoneProgress": true},
			"workspace": map[string]any{"configuration": true, "workspaceFolders": true},
			"textDocument": map[string]any{
				"synchronization":    map[string]any{"didSave": false},
				"publishDiagnostics": map[string]any{"relatedInformation": false},
				"diagnostic":         map[string]any{"dynamicRegistration": false},
			},
		},
		"initializationOptions": map[string]any{"pullDiagnostics": true}, // gopls: it can be asked
	}
}

type initialized struct {
	Capabilities struct {
		PositionEncoding   string          `json:"positionEncoding"`
		DiagnosticProvider json.RawMessage `json:"diagnosticProvider"`
	} `json:"capabilities"`
	ServerInfo struct {
		Name string `json:"name"`
	} `json:"serverInfo"`
}

type textDocument struct {
	URI        string `json:"uri"`
	LanguageID string `json:"languageId"`
	Version    int    `json:"version"`
	Text       string `json:"text"`
}

type didOpen struct {
	TextDocument textDocument `json:"textDocument"`
}

type identifier struct {
	URI string `json:"uri"`
}

type documentParams struct {
	TextDocument identifier `json:"textDocument"`
}

type published struct {
	URI         string       `json:"uri"`
	Diagnostics []diagnostic `json:"diagnostics"`
}

type report struct {
	Items []diagnostic `json:"items"`
}

type diagnostic struct {
	Range struct {
		Start struct {
			Line      int `json:"line"`
			Character int `json:"character"`
		} `json:"start"`
	} `json:"range"`
	Severity int             `json:"severity"`
	Code     json.RawMessage `json:"code"`
	Source   string          `json:"source"`
	Message  string          `json:"message"`
}

type progress struct {
	Token json.RawMessage `json:"token"`
	Value struct {
		Kind string `json:"kind"`
	} `json:"value"`
}
