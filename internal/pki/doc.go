// Package pki mints the certificates of a small private cluster: one certificate
// authority and one certificate per node, ECDSA P-256, good for both ends of a
// mutual TLS session. It never reads the clock: every validity is an argument, so
// expired and not yet valid certificates can be made as easily as good ones.
package pki
