package redistest

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
)

const (
	// readBuffer holds the largest batch that go-redis writes at once (32 KiB).
	readBuffer = 64 << 10
	maxBulk    = 512 << 20 // what Redis itself allows
)

var errProtocol = errors.New("not RESP")

// reader reads RESP messages and keeps their bytes.
type reader struct {
	br  *bufio.Reader
	raw bytes.Buffer // what was read since taken
}

func newReader(c net.Conn) *reader { return &reader{br: bufio.NewReaderSize(c, readBuffer)} }

// buffered tells whether bytes of the next message are there already.
func (r *reader) buffered() bool { return r.br.Buffered() > 0 }

// taken returns the bytes read since it was last called, also those of a message
// that broke off.
func (r *reader) taken() []byte {
	raw := bytes.Clone(r.raw.Bytes())
	r.raw.Reset()
	return raw
}

// command reads one command, RESP or inline, and returns its words.
func (r *reader) command() ([]string, error) {
	first, err := r.br.Peek(1)
	if err != nil {
		return nil, err
	}
	if first[0] == '*' {
		if err := r.value(); err != nil {
			return nil, err
		}
		return bulks(r.raw.Bytes())
	}
	line, err := r.line()
	return strings.Fields(string(line)), err
}

// value reads one value of RESP2 or RESP3, whole. The types are those of
// https://github.com/redis/redis-specifications/blob/master/protocol/RESP3.md, less
// the streamed ones, which no server sends.
func (r *reader) value() error {
	line, err := r.line()
	if err != nil {
		return err
	}
	if len(line) == 0 {
		return fmt.Errorf("%w: empty line", errProtocol)
	}
	switch line[0] {
	case '+', '-', ':', ',', '(', '#', '_':
		return nil
	case '$', '!', '=':
		n, err := length(line)
		if err != nil || n < 0 {
			return err
		}
		_, err = io.CopyN(&r.raw, r.br, int64(n+len("\r\n")))
		return err
	case '*', '~', '>':
		n, err := length(line)
		return r.values(n, err)
	case '%':
		n, err := length(line)
		return r.values(2*n, err)
	case '|': // attributes: they belong to the value that follows
		n, err := length(line)
		return r.values(2*n+1, err)
	}
	return fmt.Errorf("%w: %q", errProtocol, line)
}

func (r *reader) values(n int, err error) error {
	for i := 0; i < n && err == nil; i++ {
		err = r.value()
	}
	return err
}

// line reads a line and returns it without its end.
func (r *reader) line() ([]byte, error) {
	line, err := r.br.ReadBytes('\n')
	r.raw.Write(line)
	return bytes.TrimRight(line, "\r\n"), err
}

func length(line []byte) (int, error) {
	n, err := strconv.Atoi(string(line[1:]))
	if err != nil || n < -1 || n > maxBulk {
		return 0, fmt.Errorf("%w: length in %q", errProtocol, line)
	}
	return n, nil
}

// bulks returns the elements of an array of bulk strings.
func bulks(raw []byte) ([]string, error) {
	var words []string
	_, rest, _ := bytes.Cut(raw, []byte("\r\n"))
	for len(rest) > 0 {
		head, tail, _ := bytes.Cut(rest, []byte("\r\n"))
		n, err := length(head)
		if err != nil || head[0] != '$' || n < 0 || n+len("\r\n") > len(tail) {
			return words, fmt.Errorf("%w: a command is an array of bulk strings, got %q", errProtocol, head)
		}
		words = append(words, string(tail[:n]))
		rest = tail[n+len("\r\n"):]
	}
	return words, nil
}

// published tells whether a RESP2 message is one of a subscription.
func published(raw []byte) bool {
	for _, kind := range []string{"message", "pmessage", "smessage", "subscribe", "psubscribe",
		"ssubscribe", "unsubscribe", "punsubscribe", "sunsubscribe"} {
		head := fmt.Sprintf("\r\n$%d\r\n%s\r\n", len(kind), kind)
		if raw[0] == '*' && bytes.HasPrefix(raw[bytes.IndexByte(raw, '\r'):], []byte(head)) {
			return true
		}
	}
	return false
}
