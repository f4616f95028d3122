package capture

// kind is what a call does; the order is that of inject/ring.h.
type kind uint16

const (
	kindNone kind = iota
	kindAlloc
	kindManaged
	kindAsync
	kindCreate
	kindArray
	kindMipmap
	kindHost
	kindRegister
	kindIPC
	kindImport
	kindFree
	kindFreeAsync
	kindRelease
	kindArrayDestroy
	kindMipmapDestroy
	kindFreeHost
	kindUnregister
	kindIPCClose
	kindMap
	kindUnmap
	kindRetainHandle
	kindPool
	kindPoolDestroy
	kindPoolTrim
	kindCtx
	kindCtxDestroy
	kindPrimary
	kindPrimaryRelease
	kindPrimaryReset
	kindInit
	kindEvent
	kindEventDestroy
	kindStream
	kindStreamDestroy
	kindGraph
	kindGraphDestroy
	kindModule
	kindModuleUnload
	kindLibrary
	kindLibraryUnload
	kindPoolState
	kindCount
)

// class is what a thing that the program holds is.
type class uint8

const (
	classNone class = iota
	classDevice
	classManaged
	classAsync
	classVMM
	classArray
	classPinned
	classRegistered
	classImported // another process's memory, whose size is not known
	classEvent
	classStream
	classGraph
	classModule
	classContext
	classPool
	classCount
)

// onDevice reports whether the class is memory of a device.
func (c class) onDevice() bool { return c >= classDevice && c <= classArray }

// handle reports whether the class is counted only.
func (c class) handle() bool { return c >= classImported }

// classNames are in the singular, for people.
var classNames = [classCount]string{
	"", "device memory", "managed memory", "stream-ordered memory", "physical memory", "array",
	"pinned memory",
	"registered memory", "imported memory", "event", "stream", "graph", "module", "context", "pool",
}

// space tells handles of different types with one number apart. Memory that
// one function frees is one space.
type space uint8

const (
	spaceMemory space = iota + 1
	spaceHost
	spaceRegistered
	spaceArray
	spaceMipmap
	spacePhysical
	spaceEvent
	spaceStream
	spaceGraph
	spaceModule
	spaceLibrary
	spaceContext
	spacePool
)

// makes says what an event of a kind makes; takes, what it takes away.
type effect struct {
	space space
	class class // of what is made; classNone for what is taken away
}

var effects = [kindCount]effect{
	kindAlloc:    {spaceMemory, classDevice},
	kindManaged:  {spaceMemory, classManaged},
	kindAsync:    {spaceMemory, classAsync},
	kindIPC:      {spaceMemory, classImported},
	kindCreate:   {spacePhysical, classVMM},
	kindImport:   {spacePhysical, classImported},
	kindArray:    {spaceArray, classArray},
	kindMipmap:   {spaceMipmap, classArray},
	kindHost:     {spaceHost, classPinned},
	kindRegister: {spaceRegistered, classRegistered},
	kindEvent:    {spaceEvent, classEvent},
	kindStream:   {spaceStream, classStream},
	kindGraph:    {spaceGraph, classGraph},
	kindModule:   {spaceModule, classModule},
	kindLibrary:  {spaceLibrary, classModule},
	kindCtx:      {spaceContext, classContext},
	kindPool:     {spacePool, classPool},

	kindFree:          {spaceMemory, classNone},
	kindFreeAsync:     {spaceMemory, classNone},
	kindIPCClose:      {spaceMemory, classNone},
	kindArrayDestroy:  {spaceArray, classNone},
	kindMipmapDestroy: {spaceMipmap, classNone},
	kindFreeHost:      {spaceHost, classNone},
	kindUnregister:    {spaceRegistered, classNone},
	kindEventDestroy:  {spaceEvent, classNone},
	kindStreamDestroy: {spaceStream, classNone},
	kindGraphDestroy:  {spaceGraph, classNone},
	kindModuleUnload:  {spaceModule, classNone},
	kindLibraryUnload: {spaceLibrary, classNone},
	kindPoolDestroy:   {spacePool, classNone},
}

// balances are the pairs of kinds whose header counts give the living handles
// of a class even when events were lost.
var balances = [...]struct {
	class           class
	makes, destroys kind
}{
	{classEvent, kindEvent, kindEventDestroy},
	{classStream, kindStream, kindStreamDestroy},
	{classGraph, kindGraph, kindGraphDestroy},
	{classModule, kindModule, kindModuleUnload},
	{classModule, kindLibrary, kindLibraryUnload},
}
