package peak

// OfWindow is ofWindow, for tests of the replay alone.
var OfWindow = ofWindow
