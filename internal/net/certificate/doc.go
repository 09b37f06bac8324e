// Package certificate makes and reads what a host needs for TLS: a private
// authority for a deployment that has none, and a server's certificate, of that
// authority or of one's own.
//
// It promises that private keys are in files of mode 0600 and refuses those
// that others can read, that a certificate which was renewed on the disk is
// used from the next connection on, and that nothing older than TLS 1.2 is
// spoken. It opens no connection.
package certificate
