// Package hotspot reads what a Java virtual machine of the HotSpot family publishes about
// its heap: a small file that it maps into its memory (hsperfdata_USER/PID in the folder
// for temporary files), with counters by name. jstat and jcmd read the same file, whose
// form is that of the JDK's PerfDataPrologue and PerfDataEntry, version 2.0.
//
// What a machine without the file tells (-XX:-UsePerfData, other virtual machines) is
// [Unknown], and so is what a collector tells that is not known here.
package hotspot
