// Package command is the command line: one file for each command, the options and the
// client they share in Meta. Commands that ask an agent speak to it through package
// api only. Signals are handled here, in the agent command, and nowhere else.
//
// Results go to standard output, everything else to standard error. A command exits
// with 0 if it did what was asked, with 1 if it failed and with 2 if it was misused;
// where a command answers a yes-or-no question, 2 is also its no.
package command
