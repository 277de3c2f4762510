package child

import (
	"errors"
	"io"
	"os"
	"testing"
)

func TestMain(m *testing.M) {
	Main(map[string]Role{
		"echo": func(parent *Link) error {
			for {
				var word string
				if err := parent.Receive(&word); errors.Is(err, io.EOF) {
					return nil
				} else if err != nil {
					return err
				}
				if err := parent.Send(word + "!"); err != nil {
					return err
				}
			}
		},
		"faint": func(*Link) error { return errors.New("on purpose") },
	})
	os.Exit(m.Run())
}

func start(t *testing.T, role string) *Process {
	t.Helper()
	p, err := Start(role)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestTalk(t *testing.T) {
	p := start(t, "echo")
	for _, word := range []string{"a", "b"} {
		if err := p.Send(word); err != nil {
			t.Fatal(err)
		}
		var got string
		if err := p.Receive(&got); err != nil || got != word+"!" {
			t.Errorf("%q, %v", got, err)
		}
	}
	if err := p.Close(); err != nil {
		t.Error(err)
	}
}

func TestADeadChildIsNoticed(t *testing.T) {
	for _, role := range []string{"faint", "no such role"} {
		p := start(t, role)
		var got string
		if err := p.Receive(&got); err == nil {
			t.Errorf("%s: received %q", role, got)
		}
		if err := p.Close(); err == nil {
			t.Errorf("%s: its failure got lost", role)
		}
	}
}
