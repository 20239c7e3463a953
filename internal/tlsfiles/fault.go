package tlsfiles

import "fmt"

// Role is what a file is for. Its text is part of messages and names no setting.
type Role string

// The roles of files.
const (
	ServerCertificate Role = "server certificate" // Files.Cert
	ServerKey         Role = "private key"        // Files.Key
	ClientCA          Role = "client CA"          // Files.ClientCA
	CACertificate     Role = "CA certificate"     // ClientFiles.CACert
	ClientCertificate Role = "client certificate" // ClientFiles.Cert
	ClientKey         Role = "client private key" // ClientFiles.Key
)

// FileError says what is wrong with a file, in one line. When several files are
// wrong, the error joins one FileError for each (see errors.Join).
type FileError struct {
	Role Role   // what the file is for
	Path string // as it was given; "" if it was not
	Err  error  // the reason and what would be right; holds nothing of a key file
}

// Error names the role, the path and the reason.
func (e *FileError) Error() string {
	if e.Path == "" {
		return fmt.Sprintf("%s: %v", e.Role, e.Err)
	}
	return fmt.Sprintf("%s %q: %v", e.Role, e.Path, e.Err)
}

// Unwrap is Err.
func (e *FileError) Unwrap() error { return e.Err }

// wanted is what would be right, whatever was wrong.
func (r Role) wanted() string {
	switch r {
	case ServerKey, ClientKey:
		return "a PEM file with the certificate's private key, without a passphrase"
	case ClientCA, CACertificate:
		return "a PEM file with the certificates of the trusted authorities"
	default:
		return "a PEM file with the certificate, followed by its intermediates"
	}
}
