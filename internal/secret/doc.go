// Package secret masks what looks like a secret in text that comes from
// programs: command lines, environments, names of processes, marks, messages.
//
// # Where it is called
//
// Each string is masked once, at the border where it enters, so that no exit
// can be forgotten:
//
//   - record.Writer masks run.json and every event before it writes them, so
//     nothing of a run folder is ever written unmasked;
//   - record.Open, record.ReadEvents and importer.Read mask what they read, so
//     recordings of other tools and of older versions are covered as well;
//   - probe/scan masks the process table, from which diagnose, watch, attach and
//     the metrics take their names;
//   - tracer masks warnings and errors, which are also printed as they come;
//   - cmd/gpumem masks the command line that it shows while a program runs.
//
// What is written later (verdict.json, pages, profiles, exports, metrics) is
// made of these and needs no masking of its own. A new source of strings calls
// this package where it reads them.
//
// # What is masked
//
// By name: the value of a variable, option, key or header whose name contains
// a word such as KEY, TOKEN or PASSWORD (see gradeOf). Names are cut into words
// at _ - . and at changes of case, so that MONKEY and TOKENIZER are no such
// names. By shape: tokens of known services, JSON web tokens, private keys, and
// passwords in URLs, wherever they stand. By program: the options in which
// mysql, sshpass, curl and others take a password.
//
// A masked value is replaced by Mask. Masking is idempotent: what was masked
// once stays as it is. The result has at most three times the length of the
// input.
package secret
