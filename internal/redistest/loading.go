package redistest

import (
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"
)

// loadPause is how long a server under RestartLoading takes over a key. Between
// two keys it answers.
const loadPause = 5 * time.Millisecond

// RestartLoading is Restart with data that take the server d or somewhat more to
// load. It returns while it loads: commands are answered with LOADING. To have it
// done at once, CONFIG SET key-load-delay 0. Then the server holds these data, keys
// that begin with "redistest:", until Restart.
func (s *Server) RestartLoading(tb testing.TB, d time.Duration) {
	tb.Helper()
	s.Do(tb, "FLUSHALL")
	s.Do(tb, "CONFIG", "SET", "rdbcompression", "no")
	s.Do(tb, "EVAL", "for i = 1, ARGV[1] do redis.call('SET', 'redistest:' .. i, string.rep('x', 1024)) end",
		0, int(d/loadPause)+1)
	s.Do(tb, "SAVE")
	s.Kill()
	defer os.Remove(filepath.Join(s.dir, "dump.rdb"))
	err := s.launch("-LOADING",
		"--key-load-delay", strconv.FormatInt(loadPause.Microseconds(), 10),
		"--loading-process-events-interval-bytes", "1024")
	if err != nil {
		tb.Fatalf("redistest: restart redis-server to load data: %v", err)
	}
}
