package telemetry

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"go.opentelemetry.io/otel/metric"
	metricnoop "go.opentelemetry.io/otel/metric/noop"
)

// catalogue is a meter that only writes down what is asked of it, as a row of the
// documentation has it.
type catalogue struct {
	metricnoop.Meter
	rows map[string]string
}

func (c catalogue) note(name, kind, unit string) { c.rows[name] = kind + " | `" + unit + "`" }

func (c catalogue) Float64Histogram(name string, o ...metric.Float64HistogramOption) (metric.Float64Histogram, error) {
	c.note(name, "histogram", metric.NewFloat64HistogramConfig(o...).Unit())
	return metricnoop.Float64Histogram{}, nil
}

func (c catalogue) Int64Counter(name string, o ...metric.Int64CounterOption) (metric.Int64Counter, error) {
	c.note(name, "counter", metric.NewInt64CounterConfig(o...).Unit())
	return metricnoop.Int64Counter{}, nil
}

func (c catalogue) Int64ObservableUpDownCounter(name string, o ...metric.Int64ObservableUpDownCounterOption) (metric.Int64ObservableUpDownCounter, error) {
	c.note(name, "up-down, async", metric.NewInt64ObservableUpDownCounterConfig(o...).Unit())
	return metricnoop.Int64ObservableUpDownCounter{}, nil
}

func (c catalogue) Float64ObservableGauge(name string, o ...metric.Float64ObservableGaugeOption) (metric.Float64ObservableGauge, error) {
	c.note(name, "gauge, async", metric.NewFloat64ObservableGaugeConfig(o...).Unit())
	return metricnoop.Float64ObservableGauge{}, nil
}

func (c catalogue) Float64ObservableCounter(name string, o ...metric.Float64ObservableCounterOption) (metric.Float64ObservableCounter, error) {
	c.note(name, "counter, async", metric.NewFloat64ObservableCounterConfig(o...).Unit())
	return metricnoop.Float64ObservableCounter{}, nil
}

func metricsOfCode() map[string]string {
	c := catalogue{rows: map[string]string{}}
	newInstruments(c)
	return c.rows
}

// literals calls fn for each string literal of the non-test files of a folder, with
// the name of the function to which it is an argument, if it is one.
func literals(t *testing.T, folder string, fn func(text, callee string)) {
	t.Helper()
	files := token.NewFileSet()
	err := filepath.WalkDir(folder, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && path != folder:
			return filepath.SkipDir
		case !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go"):
			return nil
		}
		f, err := parser.ParseFile(files, path, nil, 0)
		if err != nil {
			return err
		}
		callees := make(map[*ast.BasicLit]string)
		ast.Inspect(f, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.CallExpr:
				for _, arg := range n.Args {
					if b, ok := arg.(*ast.BinaryExpr); ok {
						arg = b.X
					}
					if lit, ok := arg.(*ast.BasicLit); ok {
						callees[lit] = nameOf(n.Fun)
					}
				}
			case *ast.BasicLit:
				if text, err := strconv.Unquote(n.Value); err == nil && n.Kind == token.STRING {
					fn(text, callees[n])
				}
			}
			return true
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func nameOf(fn ast.Expr) string {
	switch fn := fn.(type) {
	case *ast.SelectorExpr:
		return fn.Sel.Name
	case *ast.Ident:
		return fn.Name
	}
	return ""
}

var attributeName = regexp.MustCompile(`^(holdfast(\.[a-z_]+)+|error\.type)$`)

func attributesOfCode(t *testing.T) map[string]bool {
	all := make(map[string]bool)
	metrics := metricsOfCode()
	literals(t, ".", func(text, callee string) {
		_, isMetric := metrics[text]
		if attributeName.MatchString(text) && text != HeldProfile && (!isMetric || callee == "Key") {
			all[text] = true
		}
	})
	return all
}

// logOfCode are the lines that the library logs: what begins with its name and is an
// argument of a function that does not make an error or a text.
func logOfCode(t *testing.T) map[string]bool {
	all := make(map[string]bool)
	for _, folder := range []string{"../client", "../middleware", "../backoff", "../fallback", "."} {
		literals(t, folder, func(text, callee string) {
			if strings.HasPrefix(text, "holdfast: ") && callee != "" &&
				!slices.Contains([]string{"New", "Errorf", "Sprintf", "ReplaceAll", "TrimPrefix", "invalid"}, callee) {
				all[text] = true
			}
		})
	}
	return all
}

// rows are the table rows of one section of the documentation, by what their first
// column has between backquotes.
func rows(t *testing.T, section string) map[string]string {
	t.Helper()
	doc, err := os.ReadFile("../docs/observability.md")
	if err != nil {
		t.Fatal(err)
	}
	_, text, ok := strings.Cut(string(doc), "\n## "+section+"\n")
	if !ok {
		t.Fatalf("no section %q", section)
	}
	text, _, _ = strings.Cut(text, "\n## ")
	all := make(map[string]string)
	for line := range strings.SplitSeq(text, "\n") {
		if first, rest, ok := strings.Cut(strings.TrimPrefix(line, "| `"), "` | "); ok && strings.HasPrefix(line, "| `") {
			all[first] = rest
		}
	}
	return all
}

func compare[A, B any](t *testing.T, what string, code map[string]A, doc map[string]B) {
	t.Helper()
	for _, name := range slices.Sorted(maps.Keys(code)) {
		if _, ok := doc[name]; !ok {
			t.Errorf("the documentation does not know the %s %q", what, name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(doc)) {
		if _, ok := code[name]; !ok {
			t.Errorf("the documentation has a %s %q that the code does not have", what, name)
		}
	}
}

func TestDocumentationIsComplete(t *testing.T) {
	metrics, attributes := metricsOfCode(), attributesOfCode(t)
	documented := rows(t, "Metrics")
	compare(t, "metric", metrics, documented)
	for name, row := range metrics {
		if !strings.HasPrefix(documented[name], row+" | ") {
			t.Errorf("%s is documented as %q, want %q", name, documented[name], row)
		}
	}
	compare(t, "attribute", attributes, rows(t, "Attributes"))
	compare(t, "line of log", logOfCode(t), rows(t, "Log"))
	k := newClass("{class}")
	compare(t, "span", map[string]bool{k.acquireSpan: true, k.releaseSpan: true, k.renewSpan: true, k.holdSpan: true}, rows(t, "Spans"))

	godoc, err := os.ReadFile("doc.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, names := range []map[string]bool{attributes, keysOf(metrics)} {
		for name := range names {
			if !regexp.MustCompile(regexp.QuoteMeta(name) + `\b`).Match(godoc) {
				t.Errorf("the package comment does not know %s", name)
			}
		}
	}
}

// prometheusNames are the metrics and the labels of the code as Prometheus names them.
func prometheusNames(t *testing.T) map[string]bool {
	all := map[string]bool{"otel_scope_name": true}
	for name := range attributesOfCode(t) {
		all[strings.ReplaceAll(name, ".", "_")] = true
	}
	for name, row := range metricsOfCode() {
		name = strings.ReplaceAll(name, ".", "_")
		kind, unit, _ := strings.Cut(row, " | ")
		if unit == "`s`" {
			name += "_seconds"
		}
		switch {
		case strings.HasPrefix(kind, "counter"):
			name += "_total"
		case kind == "histogram":
			all[name+"_bucket"], all[name+"_count"], all[name+"_sum"] = true, true, true
		}
		all[name] = true
	}
	return all
}

// What the dashboard and the rules ask for is what the code emits.
func TestDashboardAndRulesAskForWhatThereIs(t *testing.T) {
	names := prometheusNames(t)
	for _, file := range []string{"dashboards/holdfast.json", "alerts/holdfast.rules.yml", "alerts/holdfast.test.yml", "alerts/holdfast.slow.test.yml"} {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		found := regexp.MustCompile(`\b(holdfast_[a-z_]+|error_type)`).FindAllString(string(text), -1)
		if len(found) < 4 {
			t.Fatalf("%s names only %v", file, found)
		}
		slices.Sort(found)
		for _, name := range slices.Compact(found) {
			if !names[name] {
				t.Errorf("%s asks for %s, which the code does not emit", file, name)
			}
		}
	}
}

func keysOf(m map[string]string) map[string]bool {
	keys := make(map[string]bool)
	for k := range m {
		keys[k] = true
	}
	return keys
}
