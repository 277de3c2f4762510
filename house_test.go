package holdfast_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const (
	module  = "github.com/holdfast-go/holdfast"
	goRedis = "github.com/redis/go-redis/v9"
	otel    = "go.opentelemetry.io/"
)

var (
	layers = []string{"middleware", "backoff", "fallback", "telemetry"}
	// ends are the folders that nothing else may import.
	ends = []string{"examples", "bench", "cmd"}
	// testSupport is what no program that uses the library may be made to link...
	testSupport = []string{"testing", "github.com/alicebob/miniredis/v2"}
	// ...and these are the folders that need it all the same.
	testFolders = []string{"holdfasttest", "internal", "examples"}
)

// listed is a package as go list describes it.
type listed struct {
	ImportPath                         string
	Standard                           bool
	Imports, TestImports, XTestImports []string
	Deps                               []string
}

// folder returns the first folder of a package of this module, "" for the root;
// ours is false for other packages.
func folder(path string) (name string, ours bool) {
	rest, ok := strings.CutPrefix(path+"/", module+"/")
	name, _, _ = strings.Cut(rest, "/")
	return name, ok
}

func (p listed) violations(all map[string]listed) []string {
	from, ours := folder(p.ImportPath)
	if !ours {
		return nil
	}
	var found []string
	forbid := func(wrong bool, other, rule string) {
		if wrong {
			found = append(found, fmt.Sprintf("%s must not depend on %s: %s", p.ImportPath, other, rule))
		}
	}
	for _, path := range p.Imports {
		to, ours := folder(path)
		if from == "client" {
			forbid(ours, path, "client imports no other package of the module")
			forbid(strings.HasPrefix(path, otel), path, "client knows nothing of OpenTelemetry")
		}
		if slices.Contains(layers, from) {
			forbid(ours && to != "client" && to != from, path, "a layer imports only client of the module")
		}
	}
	for _, path := range slices.Concat(p.Imports, p.TestImports, p.XTestImports) {
		to, ours := folder(path)
		forbid(ours && to != from && slices.Contains(ends, to), path, "nothing imports "+to)
	}
	for _, path := range p.Deps {
		if _, ours := folder(path); from == "client" && !ours && !all[path].Standard {
			forbid(path != goRedis && !slices.Contains(all[goRedis].Deps, path), path, "client needs go-redis, what that needs, and no more")
		}
		if !slices.Contains(testFolders, from) {
			forbid(slices.Contains(testSupport, path), path, "test support stays in "+strings.Join(testFolders, ", "))
		}
	}
	return found
}

func list(t *testing.T) map[string]listed {
	t.Helper()
	cmd := exec.Command("go", "list", "-deps", "-json=ImportPath,Standard,Imports,TestImports,XTestImports,Deps", "./...")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v: %v\n%s", cmd, err, &stderr)
	}
	// Looking at the files makes go test run this again when one has changed.
	filepath.WalkDir(".", func(path string, _ fs.DirEntry, _ error) error {
		if path == ".git" {
			return filepath.SkipDir
		}
		return nil
	})
	all := make(map[string]listed)
	for d := json.NewDecoder(bytes.NewReader(out)); ; {
		var p listed
		switch err := d.Decode(&p); {
		case errors.Is(err, io.EOF):
			return all
		case err != nil:
			t.Fatal(err)
		}
		all[p.ImportPath] = p
	}
}

func TestImportsPointOneWay(t *testing.T) {
	all := list(t)
	for _, path := range []string{module + "/client", goRedis} {
		if _, ok := all[path]; !ok {
			t.Errorf("go list does not know %s", path)
		}
	}
	for _, p := range all {
		for _, v := range p.violations(all) {
			t.Error(v)
		}
	}
}

// Each rule catches what breaks it, and nothing else.
func TestImportRules(t *testing.T) {
	all := map[string]listed{
		"fmt":     {Standard: true},
		"testing": {Standard: true},
		goRedis:   {Deps: []string{"fmt", "example.org/xxhash"}},
	}
	for _, tc := range []struct {
		name string
		pkg  listed
		want int
	}{
		{"client", listed{ImportPath: module + "/client", Imports: []string{goRedis, "fmt"}, Deps: []string{goRedis, "fmt", "example.org/xxhash"}}, 0},
		{"client imports a layer", listed{ImportPath: module + "/client", Imports: []string{module + "/backoff"}}, 1},
		{"client imports the root", listed{ImportPath: module + "/client", Imports: []string{module}}, 1},
		{"client imports OpenTelemetry", listed{ImportPath: module + "/client", Imports: []string{otel + "otel/trace"}}, 1},
		{"client needs something else", listed{ImportPath: module + "/client", Deps: []string{"example.org/other"}}, 1},
		{"client's tests use test support", listed{ImportPath: module + "/client", TestImports: []string{"testing", module + "/internal/redistest"}}, 0},
		{"a layer", listed{ImportPath: module + "/telemetry", Imports: []string{module + "/client", module + "/telemetry/page", otel + "otel"}}, 0},
		{"a layer imports a layer", listed{ImportPath: module + "/fallback", Imports: []string{module + "/backoff"}}, 1},
		{"a layer imports the root", listed{ImportPath: module + "/middleware", Imports: []string{module}}, 1},
		{"the root", listed{ImportPath: module, Imports: []string{module + "/client", module + "/fallback"}}, 0},
		{"the root imports an example", listed{ImportPath: module, Imports: []string{module + "/examples/custom"}}, 1},
		{"a test imports the benchmarks", listed{ImportPath: module + "/client", XTestImports: []string{module + "/bench"}}, 1},
		{"an example imports its own part", listed{ImportPath: module + "/examples/a", Imports: []string{module + "/examples/a/b"}}, 0},
		{"the root needs miniredis", listed{ImportPath: module, Deps: []string{"github.com/alicebob/miniredis/v2"}}, 1},
		{"a layer needs testing", listed{ImportPath: module + "/backoff", Deps: []string{"testing"}}, 1},
		{"holdfasttest needs both", listed{ImportPath: module + "/holdfasttest", Deps: testSupport}, 0},
		{"a module of a like name", listed{ImportPath: module + "-x/client", Imports: []string{module}}, 0},
	} {
		if got := tc.pkg.violations(all); len(got) != tc.want {
			t.Errorf("%s: %q, want %d violations", tc.name, got, tc.want)
		}
	}
}
