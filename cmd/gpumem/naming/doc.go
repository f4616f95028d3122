// Package naming is what people call the processes and the devices of a scan: the
// script of an interpreter, else its executable; a device by what --device takes.
// Program, Command, DeviceLine, Part and Absent are fit for a terminal; the others
// are as the system has them.
package naming
