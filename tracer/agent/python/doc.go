// Package python carries the agent for Python programs: a handful of files
// without dependencies that `gpumem run` puts on PYTHONPATH, so that PyTorch,
// JAX, CuPy and MLX programs nobody changed report their live and idle bytes,
// their steps, and who holds what.
//
// Install writes the files and says what to add to the environment; Share does
// so in a folder that stays, in which interpreters find what they have compiled;
// Verify says afterwards whether the files are still what was written. The package runs no
// Python itself and imports only the standard library.
//
// The folder it writes:
//
//	sitecustomize.py       started by the interpreter; chains to the user's own
//	lib/gpumem/            what a program may import: step, mark, watch, check, …
//	                       and the pytest plugin: a leak check around every test
//	lib/gpumem_agent/      the agent
//
// Only sitecustomize.py lies on PYTHONPATH. It takes its folder off sys.path and
// appends lib to the end, so that no module of ours ever hides one of the
// program's. Folders of other agents are passed over: gpumem may run gpumem.
//
// Interpreters older than 3.8, `python -I`, `-E` and `-S`, and programs whose
// GPUMEM_AGENT is unset run as without us.
package python
