package cause

// workIsQueued is the signature of work that is handed out faster than it is done.
func workIsQueued() held {
	return held{id: workQueued, path: `\b_work_queue\b|\b_pending_work|\b_taskqueue\b`,
		what: "work that waits for an executor's threads",
		next: "hand out no more work than its threads do, so that whoever brings more waits",
		change: [2]string{"pool.submit(f, x)",
			"room.acquire(); pool.submit(f, x).add_done_callback(lambda _: room.release())  # room = Semaphore(8)"}}
}

// boundIsUnreached is the signature of a buffer that would let go of its oldest elements. The agent knows it by its
// kind.
func boundIsUnreached() held {
	return held{id: boundUnreached, path: `^$`, what: "a buffer whose bound is never reached",
		next: "find out why the line that lets its oldest elements go is not reached: its condition, or the unit of its " +
			"limit; or give it a bound in number",
		change: [2]string{"rows = deque()", "rows = deque(maxlen=128)"}}
}

// tasksAreOpen is the signature of tasks that have not ended.
func tasksAreOpen() held {
	return held{id: tasksWait, path: ` → coroutine `, what: "tasks that have not ended",
		next: "find out what these tasks wait for: begin no more of them than end in the same time, and let none " +
			"wait without a limit",
		change: [2]string{"tasks.add(asyncio.create_task(answer(request)))",
			"await room.acquire(); tasks.add(asyncio.create_task(answer(request)))  # room = Semaphore(64)"}}
}
