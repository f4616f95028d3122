try:
    import sys, _thread, _signal
    start = _thread.start_new_thread
    # gevent puts another in its place, which would run us within the program's thread.
    saved = getattr(sys.modules.get("gevent.monkey"), "saved", None)
    if isinstance(saved, dict):
        start = saved.get("_thread", {}).get("start_new_thread", start)
    elif "eventlet.patcher" in sys.modules:
        start = sys.modules["eventlet.patcher"].original("_thread").start_new_thread
    def run():
        try:
            import sys
            scope["BEFORE"] = set(sys.modules)
            import binascii, zlib
            parts = zlib.decompress(binascii.a2b_base64(PAYLOAD)).decode("utf-8").split("\0")
            scope["SOURCES"] = dict(zip(parts[1::2], parts[2::2]))
            exec(compile(parts[0], "/<gpumem>/entry.py", "exec", 0, True), scope)
        except BaseException:
            pass
    scope = {"__name__": "gpumem_entry", "PATH": PATH, "SETTINGS": SETTINGS}
    mask = _signal.pthread_sigmask(_signal.SIG_BLOCK, _signal.valid_signals())
    try:
        start(run, ())
    finally:
        _signal.pthread_sigmask(_signal.SIG_SETMASK, mask)
except KeyboardInterrupt:
    _thread.interrupt_main()
except BaseException:
    pass
