//go:build unix

package report

import (
	"bufio"
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"image"
	"image/png"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// browser is a headless Chromium without a network, spoken to in its DevTools
// protocol over the pipe of --remote-debugging-pipe: JSON messages that end in
// a zero byte, to its file descriptor 3 and from 4. No module is needed for
// that, and no port is opened.
type browser struct {
	to      io.WriteCloser
	mu      sync.Mutex
	last    int
	waiting map[int]chan message
	tabs    map[string]*tab
	gone    chan struct{} // closed when Chromium hung up
}

// message is a command, its answer, or an event.
type message struct {
	ID      int             `json:"id,omitempty"`
	Method  string          `json:"method,omitempty"`
	Session string          `json:"sessionId,omitempty"`
	Params  json.RawMessage `json:"params,omitempty"`
	Result  json.RawMessage `json:"result,omitempty"`
	Error   *struct {
		Message string `json:"message"`
	} `json:"error,omitempty"`
}

// browserPatience is how long an answer may take on a machine under load.
const browserPatience = 2 * time.Minute

// startBrowser starts Chromium; the test ends it. It skips where there is none.
func startBrowser(t testing.TB) *browser {
	t.Helper()
	if testing.Short() {
		t.Skip("the quick lane leaves this to the whole")
	}
	path := chromium()
	if path == "" {
		absent(t, "no Chromium is installed (Debian package chromium)")
	}
	fromChromium, ours := pipe(t)
	theirs, toChromium := pipe(t)
	profile, err := os.MkdirTemp("", "gpumem-chromium-")
	if err != nil {
		t.Fatal(err)
	}
	// The sandbox refuses root and many containers; only pages of this test are opened.
	cmd := exec.Command(path, "--headless", "--no-sandbox", "--remote-debugging-pipe", "--no-first-run",
		"--disable-gpu", "--hide-scrollbars",
		"--disable-dev-shm-usage", "--disable-background-networking", "--disable-component-update",
		"--proxy-server=127.0.0.1:1",
		"--user-data-dir="+profile, "about:blank")
	var log bytes.Buffer
	cmd.ExtraFiles, cmd.Stderr, cmd.WaitDelay = []*os.File{theirs, ours}, &log, browserPatience
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	theirs.Close()
	ours.Close()
	b := &browser{to: toChromium, waiting: map[int]chan message{}, tabs: map[string]*tab{}, gone: make(chan struct{})}
	go b.listen(fromChromium)
	t.Cleanup(func() {
		b.send("", "Browser.close", nil)
		select {
		case <-b.gone:
		case <-time.After(browserPatience):
			cmd.Process.Kill()
		}
		toChromium.Close()
		if err := cmd.Wait(); t.Failed() {
			t.Logf("chromium: %v\n%.2000s", err, log.String())
		}
		// A helper process of it may still write there for a moment.
		for range 20 {
			if os.RemoveAll(profile) == nil {
				break
			}
			time.Sleep(50 * time.Millisecond)
		}
	})
	return b
}

func chromium() string {
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	return ""
}

// absent skips a test for a tool that is not here; where everything has to be
// tested it fails.
func absent(t testing.TB, why string) {
	t.Helper()
	if os.Getenv("CI") != "" {
		t.Fatal(why)
	}
	t.Skip(why)
}

func pipe(t testing.TB) (r, w *os.File) {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	return r, w
}

// listen hands answers to those who wait and events to their tabs.
func (b *browser) listen(from io.ReadCloser) {
	defer close(b.gone)
	defer from.Close()
	for in := bufio.NewReader(from); ; {
		line, err := in.ReadBytes(0)
		if err != nil {
			return
		}
		var m message
		if json.Unmarshal(line[:len(line)-1], &m) != nil {
			continue
		}
		b.mu.Lock()
		if wait := b.waiting[m.ID]; wait != nil {
			delete(b.waiting, m.ID)
			wait <- m
		} else if tab := b.tabs[m.Session]; tab != nil {
			tab.event(m)
		}
		b.mu.Unlock()
	}
}

// send gives a command and returns where its answer comes.
func (b *browser) send(session, method string, params any) (chan message, error) {
	text, err := json.Marshal(params)
	if err != nil {
		return nil, err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.last++
	answer := make(chan message, 1)
	b.waiting[b.last] = answer
	if params == nil {
		text = nil
	}
	line, err := json.Marshal(message{ID: b.last, Method: method, Session: session, Params: text})
	if err != nil {
		return nil, err
	}
	_, err = b.to.Write(append(line, 0))
	return answer, err
}

func (b *browser) call(session, method string, params, result any) error {
	answer, err := b.send(session, method, params)
	if err != nil {
		return err
	}
	select {
	case m := <-answer:
		if m.Error != nil {
			return fmt.Errorf("%s: %s", method, m.Error.Message)
		}
		if result == nil {
			return nil
		}
		return json.Unmarshal(m.Result, result)
	case <-b.gone:
		return errors.New(method + ": chromium ended")
	case <-time.After(browserPatience):
		return errors.New(method + ": no answer")
	}
}

// tab is one page. troubles are what its console said, its script threw, its
// policy refused, and whatever it tried to load besides itself.
type tab struct {
	t        testing.TB
	b        *browser
	session  string
	loaded   chan struct{}
	mu       sync.Mutex
	troubles []string
}

func (b *browser) newTab(t testing.TB) *tab {
	t.Helper()
	var target struct{ TargetID string }
	var attached struct{ SessionID string }
	if err := errors.Join(b.call("", "Target.createTarget", map[string]any{"url": "about:blank"}, &target),
		b.call("", "Target.attachToTarget", map[string]any{"targetId": target.TargetID, "flatten": true},
			&attached)); err != nil {
		t.Fatal(err)
	}
	p := &tab{t: t, b: b, session: attached.SessionID, loaded: make(chan struct{}, 16)}
	b.mu.Lock()
	b.tabs[p.session] = p
	b.mu.Unlock()
	for _, domain := range []string{"Page", "Runtime", "Log", "Network"} {
		p.do(domain+".enable", nil, nil)
	}
	p.do("Network.emulateNetworkConditions", map[string]any{"offline": true, "latency": 0,
		"downloadThroughput": 0, "uploadThroughput": 0}, nil)
	return p
}

// event is called by the browser's reader; it must not wait.
func (p *tab) event(m message) {
	switch m.Method {
	case "Page.loadEventFired":
		select {
		case p.loaded <- struct{}{}:
		default:
		}
	case "Runtime.consoleAPICalled", "Runtime.exceptionThrown", "Log.entryAdded", "Network.loadingFailed":
		p.trouble(m.Method + " " + string(m.Params))
	case "Network.requestWillBeSent":
		var r struct{ Request struct{ URL string } }
		if json.Unmarshal(m.Params, &r) != nil || !strings.HasPrefix(r.Request.URL, "file:") {
			p.trouble("request of " + r.Request.URL)
		}
	}
}

func (p *tab) trouble(text string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.troubles = append(p.troubles, fmt.Sprintf("%.600s", text))
}

// quiet fails the test for everything that should not have happened so far.
func (p *tab) quiet() {
	p.t.Helper()
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, text := range p.troubles {
		p.t.Error(text)
	}
	p.troubles = nil
}

func (p *tab) do(method string, params, result any) {
	p.t.Helper()
	if err := p.b.call(p.session, method, params, result); err != nil {
		p.t.Fatal(err)
	}
}

// open shows a page from disk.
func (p *tab) open(path string) {
	p.t.Helper()
	for len(p.loaded) > 0 {
		<-p.loaded
	}
	p.do("Page.navigate", map[string]any{"url": "file://" + path}, nil)
	select {
	case <-p.loaded:
	case <-time.After(browserPatience):
		p.t.Fatal(path + " did not load")
	}
}

// size sets the window, theme what the reader's system prefers, and medium
// "screen" or "print".
func (p *tab) size(wide, high int) {
	p.t.Helper()
	p.do("Emulation.setDeviceMetricsOverride", map[string]any{"width": wide, "height": high,
		"deviceScaleFactor": 1, "mobile": wide < 600}, nil)
}

func (p *tab) theme(theme, medium string) {
	p.t.Helper()
	p.do("Emulation.setEmulatedMedia", map[string]any{"media": medium,
		"features": []map[string]string{{"name": "prefers-color-scheme", "value": theme}}}, nil)
}

func (p *tab) scripts(on bool) {
	p.t.Helper()
	p.do("Emulation.setScriptExecutionDisabled", map[string]any{"value": !on}, nil)
}

// eval runs an expression in the page, waits for it when it is a promise, and
// decodes its value into out, unless that is nil.
func (p *tab) eval(expression string, out any) {
	p.t.Helper()
	var r struct {
		Result           struct{ Value json.RawMessage }
		ExceptionDetails json.RawMessage
	}
	p.do("Runtime.evaluate", map[string]any{"expression": expression, "awaitPromise": true, "returnByValue": true}, &r)
	if r.ExceptionDetails != nil {
		p.t.Fatalf("%.200s: %.800s", expression, r.ExceptionDetails)
	}
	if out == nil {
		return
	}
	if err := json.Unmarshal(r.Result.Value, out); err != nil {
		p.t.Fatalf("%.200s: %v in %.200s", expression, err, r.Result.Value)
	}
}

// text is the value of an expression that is a string.
func (p *tab) text(expression string) (s string) {
	p.t.Helper()
	p.eval(expression, &s)
	return s
}

// key presses and releases a key of that DOM name.
func (p *tab) key(name string) {
	p.t.Helper()
	for _, kind := range []string{"keyDown", "keyUp"} {
		press := map[string]any{"type": kind, "key": name, "code": name,
			"windowsVirtualKeyCode": map[string]int{"Tab": 9, "Enter": 13, " ": 32, "ArrowLeft": 37,
				"ArrowRight": 39}[name]}
		if text := map[string]string{"Enter": "\r", " ": " ", "+": "+", "-": "-", "0": "0"}[name]; text != "" &&
			kind == "keyDown" {
			press["text"] = text
		}
		p.do("Input.dispatchKeyEvent", press, nil)
	}
}

// mouse does what a hand does: "mouseMoved", "mousePressed", "mouseReleased".
func (p *tab) mouse(kind string, x, y float64) {
	p.t.Helper()
	event := map[string]any{"type": kind, "x": x, "y": y, "button": "left", "clickCount": 1, "buttons": 1}
	if kind == "mouseMoved" {
		delete(event, "clickCount")
	}
	p.do("Input.dispatchMouseEvent", event, nil)
}

// box is where an element stands in the window.
type rect struct{ X, Y, Width, Height float64 }

func (p *tab) rectOf(selector string) (r rect) {
	p.t.Helper()
	p.eval(fmt.Sprintf(`(() => {const e = document.querySelector(%q); e.scrollIntoView({block: "center"}); const r = e.getBoundingClientRect();
		return {X: r.x, Y: r.y, Width: r.width, Height: r.height}})()`, selector), &r)
	return r
}

// picture is what the page looks like from top to end, or one element of it.
func (p *tab) picture(selector string) image.Image {
	p.t.Helper()
	if selector == "" {
		selector = "html"
	}
	var clip struct{ X, Y, Width, Height, Scale float64 }
	p.eval(fmt.Sprintf(`(() => {const r = document.querySelector(%q).getBoundingClientRect();
		return {X: r.x + scrollX, Y: r.y + scrollY, Width: r.width, Height: r.height, Scale: 1}})()`, selector), &clip)
	var shot struct{ Data string }
	p.do("Page.captureScreenshot", map[string]any{"format": "png", "captureBeyondViewport": true,
		"clip": map[string]float64{"x": clip.X, "y": clip.Y, "width": clip.Width, "height": clip.Height, "scale": 1}},
		&shot)
	data, err := base64.StdEncoding.DecodeString(shot.Data)
	if err != nil {
		p.t.Fatal(err)
	}
	img, err := png.Decode(bytes.NewReader(data))
	if err != nil {
		p.t.Fatal(err)
	}
	return img
}

// keep writes a picture for a person to look at, into the folder that
// GPUMEM_SCREENSHOTS names; without it nothing is kept.
func keep(t testing.TB, name string, img image.Image) {
	t.Helper()
	dir := os.Getenv("GPUMEM_SCREENSHOTS")
	if dir == "" {
		return
	}
	f, err := os.Create(filepath.Join(dir, name+".png"))
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(png.Encode(f, img), f.Close()); err != nil {
		t.Fatal(err)
	}
}
