package main

import (
	"fmt"
	"image"
	"image/png"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// updateEnv has the pictures of the documentation taken anew.
const updateEnv = "HOLDFAST_UPDATE_SCREENSHOTS"

func body(t *testing.T, reply *http.Response) string {
	t.Helper()
	text, err := io.ReadAll(reply.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// browser is a Chromium without a window.
type browser struct {
	*testing.T
	path string
}

func (b browser) run(args ...string) string {
	b.Helper()
	cmd := exec.Command(b.path, append([]string{"--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--hide-scrollbars",
		"--no-first-run", "--user-data-dir=" + b.TempDir()}, args...)...)
	cmd.WaitDelay = time.Minute
	out, err := cmd.Output()
	if err != nil {
		b.Fatalf("chromium: %v", err)
	}
	return string(out)
}

func (b browser) picture(url, file string, width, height int, args ...string) image.Image {
	b.Helper()
	b.run(append(args, fmt.Sprintf("--window-size=%d,%d", width, height), "--screenshot="+file, url)...)
	f, err := os.Open(file)
	if err != nil {
		b.Fatal(err)
	}
	defer f.Close()
	img, err := png.Decode(f)
	if err != nil {
		b.Fatal(err)
	}
	if got := img.Bounds().Size(); got != image.Pt(width, height) {
		b.Fatalf("%s is %v", file, got)
	}
	return img
}

// brightness is that of the page's edge, from 0 to 1.
func brightness(img image.Image) float64 {
	r, g, b, _ := img.At(2, img.Bounds().Dy()/2).RGBA()
	return float64(r+g+b) / 3 / 0xffff
}

// screenshots looks at the page in a real browser: light and dark, and on a phone.
func screenshots(t *testing.T, url string) {
	b := browser{t, need(t, "chromium", "HOLDFAST_REQUIRE_CHROMIUM")}
	dir := t.TempDir()
	if os.Getenv(updateEnv) != "" {
		dir = "../../docs"
	}
	light := b.picture(url, filepath.Join(dir, "page-light.png"), 1200, 900)
	dark := b.picture(url, filepath.Join(dir, "page-dark.png"), 1200, 900, "--blink-settings=preferredColorScheme=0")
	if brightness(light) < 0.8 || brightness(dark) > 0.2 {
		t.Errorf("light is %.2f, dark is %.2f", brightness(light), brightness(dark))
	}
	phone := b.picture(url, filepath.Join(dir, "page-phone.png"), 390, 1100)
	for y := range phone.Bounds().Dy() { // what is too wide would reach the edge
		if at := phone.At(phone.Bounds().Dx()-3, y); at != phone.At(2, 2) {
			t.Fatalf("the page is wider than a phone: at %d it has %v at the edge", y, at)
		}
	}
	if dom := b.run("--dump-dom", url); !strings.Contains(dom, `id="live" type="button" aria-pressed="true"`) {
		t.Error("the script does not run: its button is hidden")
	}
}
