package telemetry

import (
	"math"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// luminance is that of a colour #rrggbb, as the Web Content Accessibility Guidelines
// define it.
func luminance(t *testing.T, colour string) float64 {
	t.Helper()
	n, err := strconv.ParseUint(strings.TrimPrefix(colour, "#"), 16, 32)
	if err != nil || len(colour) != 7 {
		t.Fatalf("colour %q", colour)
	}
	channel := func(shift int) float64 {
		c := float64(n>>shift&0xff) / 255
		if c <= 0.04045 {
			return c / 12.92
		}
		return math.Pow((c+0.055)/1.055, 2.4)
	}
	return 0.2126*channel(16) + 0.7152*channel(8) + 0.0722*channel(0)
}

// Text is readable on whatever it stands, in both schemes: a contrast of 4.5 to 1.
func TestPageHasContrast(t *testing.T) {
	css := asset("page.css")
	light, dark, ok := strings.Cut(css, "@media (prefers-color-scheme: dark)")
	if !ok {
		t.Fatal("there is no dark scheme")
	}
	for scheme, text := range map[string]string{"light": light, "dark": dark} {
		colours := make(map[string]string)
		for _, m := range regexp.MustCompile(`--([a-z-]+): (#[0-9a-f]{6});`).FindAllStringSubmatch(text, -1) {
			colours[m[1]] = m[2]
		}
		for ink, papers := range map[string][]string{
			"ink": {"paper", "card", "wash", "bad-wash", "warn-wash"}, "soft": {"paper", "card", "wash", "bad-wash", "warn-wash"},
			"good": {"card", "good-wash"}, "warn": {"paper", "card", "warn-wash"}, "bad": {"card", "bad-wash"}, "rope": {"card", "paper"},
		} {
			for _, paper := range papers {
				a, b := luminance(t, colours[ink]), luminance(t, colours[paper])
				if ratio := (max(a, b) + 0.05) / (min(a, b) + 0.05); ratio < 4.5 {
					t.Errorf("%s: %s on %s has a contrast of %.2f", scheme, ink, paper, ratio)
				}
			}
		}
	}
}

// What a table means is there without its looks: roles, for those who read it aloud, and
// labels for each cell, for those who have it as cards.
func TestPageIsLabelled(t *testing.T) {
	html := asset("page.html")
	for tag, count := range map[string]int{"<table": strings.Count(html, `<table role="table"`), "<th ": strings.Count(html, `<th role="columnheader" scope="col"`),
		"<td ": strings.Count(html, `<td role="cell" data-label="`), "<section ": strings.Count(html, `<section aria-labelledby="`), "<meter ": strings.Count(html, `aria-label="share of`)} {
		if n := strings.Count(html, tag); n == 0 || n != count {
			t.Errorf("%d %s, of which %d are labelled", n, tag, count)
		}
	}
	if !strings.Contains(html, `<html lang="en">`) || !strings.Contains(html, `<meta name="viewport"`) {
		t.Error("no language, or no viewport")
	}
}
