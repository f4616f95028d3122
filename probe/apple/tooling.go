package apple

import (
	"strings"
)

// tools are the variables by which a developer switches on what keeps memory
// on a program's account, with what they switch on.
var tools = [...]struct{ name, what string }{
	{"MTL_CAPTURE_ENABLED", "GPU capture"},
	{"METAL_CAPTURE_ENABLED", "GPU capture"},
	{"METAL_DEVICE_WRAPPER_TYPE", "Metal's validation"},
	{"MTL_DEBUG_LAYER", "Metal's debug layer"},
	{"MTL_SHADER_VALIDATION", "Metal's shader validation"},
	{"MTL_HUD_ENABLED", "Metal's performance display"},
	{"NSZombieEnabled", "zombie objects, which are never freed"},
	{"NSDeallocateZombies", "zombie objects"},
	{"MallocStackLogging", "a stack kept for each allocation"},
	{"MallocStackLoggingNoCompact", "a stack kept for each allocation"},
	{"MallocScribble", "malloc's scribbling"},
	{"MallocGuardEdges", "malloc's guard pages"},
	{"OBJC_DEBUG_MISSING_POOLS", "a message for each object without a pool"},
}

// insertedTools are libraries of such tools that dyld can be told to insert.
var insertedTools = [...]string{"MTLCapture", "GPUToolsCapture", "MTLDebug", "libgmalloc",
	"MallocStackLogging", "liblsan", "libclang_rt.asan"}

// Tool is something that a program's environment, or its bundle, switches on.
type Tool struct {
	Variable, Value string // of the environment, or a key of Info.plist
	What            string // it does, in a few words
}

func (t Tool) String() string { return t.Variable + "=" + t.Value + ": " + t.What }

// Tooling names what a program's environment (NAME=value) switches on that
// makes memory grow without a leak, in a fixed order. Other variables are not
// looked at and never repeated, since they may be secrets.
func Tooling(env []string) []Tool {
	values := map[string]string{}
	for _, entry := range env {
		name, value, _ := strings.Cut(entry, "=")
		values[name] = value
	}
	var on []Tool
	for _, t := range tools {
		if v, set := values[t.name]; set && !off(v) {
			on = append(on, Tool{t.name, v, t.what})
		}
	}
	const inserted = "DYLD_INSERT_LIBRARIES"
	for _, library := range insertedTools {
		if strings.Contains(values[inserted], library) {
			on = append(on, Tool{inserted, library, "a library of a tool"})
		}
	}
	return on
}

// off reports whether a value means that the tool stays off.
func off(value string) bool {
	switch strings.ToLower(value) {
	case "", "0", "no", "false", "off":
		return true
	}
	return false
}
