package agent

import (
	"bufio"
	"encoding/json"
	"fmt"
	"time"
)

// tick samples each interval.
func (c *Client) tick() {
	defer c.workers.Done()
	ticker := time.NewTicker(c.interval)
	defer ticker.Stop()
	for {
		select {
		case <-c.dead:
			return
		case <-ticker.C:
		}
		now := c.clock.Now()
		c.mu.Lock()
		c.drain()
		// A step mark may have sampled a moment ago.
		if now-c.lastSample >= int64(c.interval)/2 {
			c.sample(now)
		}
		c.mu.Unlock()
	}
}

// listen reads requests until the tracer closes.
func (c *Client) listen() {
	defer c.workers.Done()
	defer c.end()
	lines := bufio.NewScanner(c.conn)
	lines.Buffer(make([]byte, 4096), maxLine)
	for lines.Scan() {
		var e envelope
		if json.Unmarshal(lines.Bytes(), &e) != nil {
			continue
		}
		if e.Heard != nil {
			tell(c.heard)
		}
		if e.Do == nil {
			continue
		}
		if e.Do.Action == ActionContinue {
			select {
			case <-c.released:
			default:
				close(c.released)
			}
			continue
		}
		tell(c.asked)
		select {
		case c.requests <- *e.Do:
		case <-c.dead:
			return
		}
	}
}

// tell leaves word in a channel with room for one.
func tell(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// act does the requested actions one after the other.
func (c *Client) act() {
	for {
		select {
		case <-c.dead:
			return
		case do := <-c.requests:
			c.answer(do)
		}
	}
}

// answer does one action.
func (c *Client) answer(do Do) {
	c.mu.Lock()
	handler := c.handlers[do.Action]
	c.mu.Unlock()
	done := Done{Error: fmt.Sprintf("action %q is not offered", do.Action)}
	if handler != nil {
		done = handler()
	}
	done.ID = do.ID
	c.sayDone(&done)
	c.knock()
}

// sayDone answers a request, after a sample that shows its effect.
func (c *Client) sayDone(done *Done) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.sample(c.clock.Now())
	line := encode(envelope{Done: done})
	if line == nil {
		line = encode(envelope{Done: &Done{ID: done.ID, Error: "the answer is too long for a line"}})
	}
	c.post(line, messageRoom)
}
