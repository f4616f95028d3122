// Package settings is the defaults that a user gives to flags of run and attach outside
// of the command line: in the environment, in a project, or in a file of their own.
package settings
