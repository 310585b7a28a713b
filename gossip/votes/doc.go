// Package votes keeps a voter's votes on disk, so that a node that is started again
// knows what it granted before and need not fence itself off.
//
// # The file
//
// A Store is one bbolt file. The bucket "votes" has a record per vote: the key is the
// firing's instant (nanoseconds since the epoch as eight bytes, big endian, with the
// sign bit flipped so that keys sort by time) followed by the job's name, the value is
// the instance id to which it was granted. The bucket "head" has a single record that
// every transaction writes anew: what the file is, whose it is, the low-water mark, and
// the number of votes with a sum over all of them. bbolt itself checks little more than
// the pages that a transaction starts from; with the sum no record can be lost, changed
// or added without being noticed.
//
// # What is promised
//
// Append and Prune return after their transaction was synced: all of it is there after a
// crash, or nothing. After a failed write the Store trusts neither what it wrote nor
// what the kernel still has of it: the next call writes everything into a new file first.
//
// A file that is damaged, in use by another process, or another node's is an error and
// is left as it is: to vote without knowing what was voted is what the file is there to
// prevent. If one of the two pages that say which transaction was last is damaged, the
// votes of that transaction may be missing. Nothing else can be, so the Store then
// raises the low-water mark over everything that an earlier life could vote on, as the
// fence of a node without a file does.
//
// The mark also covers what was before the file. The process that makes the file fences
// itself off, because it may have voted in an earlier life that kept no votes; the next
// one has the file, but not those votes, and must not grant those firings either.
package votes
