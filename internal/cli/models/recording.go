package models

import (
	"cmp"
	"fmt"
	"time"

	"github.com/spf13/pflag"

	"github.com/loomrun/loom/internal/agents/model"
	"github.com/loomrun/loom/internal/agents/model/recording"
	"github.com/loomrun/loom/internal/base/suggest"
	"github.com/loomrun/loom/internal/host"
)

// RecordFlag adds the switch that records a run.
func RecordFlag(f *pflag.FlagSet, file *string) {
	f.StringVar(file, "record", "", "write what models and tools say to a new `FILE`")
}

// Recorded has do record into a file; without one nothing is recorded.
func (a *Commands) Recorded(file, from string, m model.Provider, do func(*recording.Writer) error) error {
	if file == "" {
		return do(nil)
	}
	w, err := recording.Create(file, recording.Header{Made: time.Now().UTC(), By: host.Version, From: from, Model: m.Name()}, a.Confidential())
	if err != nil {
		return err
	}
	err = do(w)
	if bad := w.Close(); bad != nil {
		return cmp.Or(err, bad)
	}
	fmt.Fprintf(a.Err, "recorded in %s: \"loom replay %s\" goes through it, and --model replay:%s answers from it\n", file, suggest.Arg(file), suggest.Arg(file))
	return err
}

// StandIn says what answers in the place of a language model, or "".
func StandIn(m model.Provider) string {
	switch {
	case recording.PlayedBy(m) != nil:
		return "a recording"
	case m.Scripted():
		return "a script"
	}
	return ""
}
