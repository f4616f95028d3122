package ttmetal

import "container/list"

// mostConnections is how many programs are served at once where Options do not tell.
const mostConnections = 16_384

// crowd are the connections that are open at once. Where there are too many, the oldest
// that has not said anything whole gives its place to a new one: connections that are
// silent, or stop within their first message, keep no program out. The server's lock is
// held around each call.
type crowd struct {
	most   int
	all    map[*conn]*list.Element // nil of one that has its place for good
	silent *list.List              // of *conn, the oldest first
	full   bool                    // somebody was turned away
}

func newCrowd(most int) crowd {
	return crowd{most: most, all: map[*conn]*list.Element{}, silent: list.New()}
}

// add takes a new connection. Without room it is for the caller to close; first is true
// the first time that there is none.
func (w *crowd) add(k *conn) (room, first bool) {
	if len(w.all) >= w.most && !w.drop() {
		first = !w.full
		w.full = true
		return false, first
	}
	w.all[k] = w.silent.PushBack(k)
	return true, false
}

// keep gives a connection its place for good.
func (w *crowd) keep(k *conn) {
	if e := w.all[k]; e != nil {
		w.silent.Remove(e)
		w.all[k] = nil
	}
}

// remove takes a connection out.
func (w *crowd) remove(k *conn) {
	w.keep(k)
	delete(w.all, k)
}

// drop closes the oldest silent connection and reports whether there was one.
func (w *crowd) drop() bool {
	e := w.silent.Front()
	if e == nil {
		return false
	}
	k := e.Value.(*conn)
	w.remove(k)
	k.c.Close() // its goroutine finds it closed
	return true
}
