package pool

// LimitIdle changes how many idle buffers a class keeps, of a policy that limits them:
// one with a positive MaxIdlePerClass; others stay as they are. What a class has
// beyond the new limit stays until it is used. It is safe for concurrent use.
func (p *Pool) LimitIdle(buffers int) {
	if p.policy.MaxIdlePerClass <= 0 || buffers < 0 {
		return
	}
	p.mostIdle.Store(int64(buffers))
	for i := range p.shards.all {
		sh := &p.shards.all[i]
		sh.lock(p)
		for key, l := range sh.lists {
			if key&0xff < keyInt {
				l.maxIdle = buffers
			}
		}
		sh.mu.Unlock()
	}
}
