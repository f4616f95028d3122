// Package account charges the bytes of a process to accounts. It is the only
// place that knows the formula; the verdict, the report, the screen and the
// metrics all ask it, for a single row or for a whole series.
//
// The device's ledger holds exactly in every row:
//
//	device = live + idle + untracked
//
// Device is what the driver charges the process, or, where nobody reads the
// driver, what it was asked for. Live and idle are what the program's allocator
// tells. Untracked is the rest. Where no allocator tells, all of the device's
// bytes are untracked and nobody owns them (Tells.Owned): a growth of them is
// nobody's until somebody tells.
//
// The host's ledger, exactly as well:
//
//	footprint = host + device bytes that are host memory
//
// The second term is 0 except on unified memory. The footprint is what the system
// counts so, else the pages that no file backs and what was swapped out, else the
// resident set.
//
// A remainder below 0 is no account's: the driver's counter lags behind the
// allocator's, or, on unified memory, pages of the device were not touched yet.
// It stays in the ledger as it is. Whoever shows a row calls Tells.Shown first.
//
// Unknown is NaN, and never 0. A sum with an unknown part is unknown; a part that
// no column of the recording tells takes no part in it.
//
// What a growth of an account is called (Class), the kinds of the driver's handles
// and the way bytes are printed stand here too: verdicts and causes share them.
package account
