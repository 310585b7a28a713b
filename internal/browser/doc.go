// Package browser drives pages in a headless Chromium for tests, as a person would: with
// the mouse and the keyboard, by what can be seen. Whatever goes wrong in a page (an error
// on the console, a breach of its content security policy, a request that fails) fails the
// test that opened it.
package browser
