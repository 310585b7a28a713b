// Command site builds the documentation as a static website: the pages of website/, the
// examples that they link to, and the description of the API. What it writes needs no
// script and asks no other host for anything; the same sources give the same bytes.
package main
