package tensor

import (
	"fmt"
	"runtime"
	"sync"
)

// CloneSite is a line of the program and how many references it added.
type CloneSite struct {
	Site       string // file:line func
	Increments int64
}

// audit counts Share calls by the caller's line.
type audit struct {
	mu    sync.Mutex
	sites map[uintptr]int64
}

// count charges the caller of Share, which is at pc.
func (a *audit) count(pc uintptr) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.sites == nil {
		a.sites = map[uintptr]int64{}
	}
	a.sites[pc]++
}

// bySite adds the shares up by line, in no order.
func (a *audit) bySite() []CloneSite {
	a.mu.Lock()
	defer a.mu.Unlock()
	bySite := map[string]int64{}
	for pc, n := range a.sites {
		frame, _ := runtime.CallersFrames([]uintptr{pc}).Next()
		bySite[fmt.Sprintf("%s:%d %s", frame.File, frame.Line, frame.Function)] += n
	}
	var list []CloneSite
	for site, n := range bySite {
		list = append(list, CloneSite{site, n})
	}
	return list
}
