// Command dashboards writes the Grafana dashboard of holdfast to holdfast.json, or to
// the standard output with -.
//
//	go run .
//
// Import the file in Grafana as it is: data source, job, instance and class are
// variables. It wants the metrics under the names that Prometheus gives them, by
// whatever way they got there.
package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
)

const file = "holdfast.json"

func main() {
	text, err := render()
	if err == nil {
		if len(os.Args) > 1 && os.Args[1] == "-" {
			_, err = os.Stdout.Write(text)
		} else {
			err = os.WriteFile(file, text, 0o644)
		}
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "dashboards:", err)
		os.Exit(1)
	}
}

// render is the dashboard as JSON.
func render() ([]byte, error) {
	board, err := locks().Build()
	if err != nil {
		return nil, err
	}
	for i, p := range board.Panels {
		id := uint32(i + 1)
		if p.Panel != nil {
			p.Panel.Id = &id
		} else {
			p.RowPanel.Id = id
		}
	}
	var out bytes.Buffer
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if err := e.Encode(board); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}
