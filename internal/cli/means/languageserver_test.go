package means

import (
	"testing"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/host"
)

func TestREPO01_LanguageServersAreNamedByExtension(t *testing.T) {
	var c host.Config
	if err := fillLanguageServers(&c, nil); err != nil || c.LanguageServers != nil {
		t.Errorf("nothing named: %v, %v", c.LanguageServers, err)
	}
	if err := fillLanguageServers(&c, []string{".py,.pyi=pylsp -v", ".go=other"}); err != nil || len(c.LanguageServers) != 3 ||
		c.LanguageServers[0].Command[1] != "-v" || c.LanguageServers[0].Extensions[1] != ".pyi" || c.LanguageServers[1].Command[0] != "other" {
		t.Errorf("%+v, %v", c.LanguageServers, err)
	}
	for _, bad := range []string{"", "py=pylsp", ".py", ".py=", ".py= ", ".=x", ".py,=x", ".p y=x"} {
		if err := fillLanguageServers(&c, []string{bad}); fault.Code(err) != "usage/argument" {
			t.Errorf("%q: %v", bad, err)
		}
	}
}
