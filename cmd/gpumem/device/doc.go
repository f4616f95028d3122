// Package device is the devices that --device names, and what each opens.
package device
