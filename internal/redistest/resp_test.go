package redistest

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
)

func read(text string) *reader {
	return &reader{br: bufio.NewReader(iotest.OneByteReader(strings.NewReader(text)))}
}

func TestReaderTakesWholeValues(t *testing.T) {
	for _, value := range []string{
		"+OK\r\n", "-ERR no\r\n", ":-1\r\n", "$0\r\n\r\n", "$-1\r\n", "$4\r\n\r\n$1\r\n", "*-1\r\n", "*0\r\n",
		"*2\r\n*1\r\n:1\r\n$1\r\na\r\n", "_\r\n", "#t\r\n", ",1.5\r\n", "(12345678901234567890\r\n", "!3\r\nERR\r\n",
		"=5\r\ntxt:a\r\n", "%1\r\n+a\r\n*1\r\n:1\r\n", "~2\r\n:1\r\n:2\r\n", ">2\r\n+a\r\n+b\r\n",
		"|1\r\n+ttl\r\n:1\r\n*1\r\n:5\r\n",
	} {
		r := read(value + "+next\r\n")
		if err := r.value(); err != nil || string(r.taken()) != value {
			t.Errorf("%q: %v", value, err)
			continue
		}
		if err := r.value(); err != nil || string(r.taken()) != "+next\r\n" {
			t.Errorf("%q left its reader astray: %v", value, err)
		}
	}
}

func TestReaderKeepsWhatBrokeOff(t *testing.T) {
	for _, part := range []string{"+O", "$5\r\nab", "*2\r\n:1\r\n", "$5\r", "*"} {
		r := read(part)
		if err := r.value(); !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Errorf("%q: %v, want the end", part, err)
		}
		if got := string(r.taken()); got != part {
			t.Errorf("%q: kept %q", part, got)
		}
	}
}

func TestReaderRefusesWhatIsNotRESP(t *testing.T) {
	for _, text := range []string{"hello\r\n", "\r\n", "$x\r\n", "*-2\r\n", "$99999999999\r\n", "*1\r\n?\r\n"} {
		if err := read(text).value(); !errors.Is(err, errProtocol) {
			t.Errorf("%q: %v, want %v", text, err, errProtocol)
		}
	}
	for _, text := range []string{"*1\r\n:1\r\n", "*1\r\n$-1\r\n"} {
		if _, err := read(text).command(); !errors.Is(err, errProtocol) {
			t.Errorf("command %q: %v, want %v", text, err, errProtocol)
		}
	}
}

func TestReaderReadsCommands(t *testing.T) {
	for text, want := range map[string][]string{
		"*2\r\n$3\r\nGET\r\n$2\r\n\r\n\r\n": {"GET", "\r\n"},
		"*1\r\n$0\r\n\r\n":                  {""},
		"PING  a\r\n":                       {"PING", "a"},
		"\r\n":                              {},
		"*0\r\n":                            {},
	} {
		r := read(text + "next")
		if got, err := r.command(); err != nil || !slices.Equal(got, want) || string(r.taken()) != text {
			t.Errorf("%q: words %q, %v, want %q", text, got, err, want)
		}
	}
}

// FuzzReader: what is taken is what was read, in every case.
func FuzzReader(f *testing.F) {
	for _, text := range []string{"+OK\r\n$2\r\nab\r\n", "*2\r\n$3\r\nGET\r\n$1\r\nk\r\n", "|1\r\n+a\r\n:1\r\n%1\r\n_\r\n#t\r\n", "PING\r\n"} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		for _, next := range []func(*reader) error{
			(*reader).value,
			func(r *reader) error { _, err := r.command(); return err },
		} {
			r := &reader{br: bufio.NewReader(bytes.NewReader(text))}
			var taken []byte
			for err := error(nil); err == nil; taken = append(taken, r.taken()...) {
				err = next(r)
			}
			rest, _ := io.ReadAll(r.br)
			if got := append(taken, rest...); !bytes.Equal(got, text) {
				t.Fatalf("took %q of %q", got, text)
			}
		}
	})
}
