// Package output writes the file that -o names, whole or not at all, and keeps
// whatever else is there: devices, pipes and links.
package output
