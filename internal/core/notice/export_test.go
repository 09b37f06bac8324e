package notice

import "google.golang.org/protobuf/reflect/protoreflect"

// Parse reads a sentence of the contract.
func Parse(text string, of protoreflect.MessageDescriptor) error {
	_, err := parse(text, of)
	return err
}
