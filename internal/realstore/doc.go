// Package realstore runs real coordination stores for tests: etcd as one process or as
// three members, and kube-apiserver. All of them listen on the loopback interface, are
// processes of their own, so that a test can kill, stop and restart them, and end with
// the test, also when it fails or panics.
//
// A [Proxy] or an [HTTPProxy] stands between a store and who uses it, to count what
// passes, and to hold it up, cut it or answer in the store's place.
package realstore
