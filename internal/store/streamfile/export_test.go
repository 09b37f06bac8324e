package streamfile

import "encoding/hex"

// Sum is what a server writes beside the description of the stream of that name.
func Sum(name string, data []byte) string { return hex.EncodeToString(checksum(name, data)) }
