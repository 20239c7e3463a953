package inventory

// IdempotencyRecord is the answer to a request that a client may send again (Idempotency-Key), so that
// it is done once. It is no resource of clients.
type IdempotencyRecord struct {
	Base
	Owner    string `json:"owner" field:"required,max=200"` // who sent the request
	Key      string `json:"key" field:"required,unique=owner,max=255"`
	Request  string `json:"request" field:"required,max=100"` // a hash, to tell another request with the same key
	Status   int64  `json:"status"`
	Location string `json:"location" field:"max=500"`
	Body     string `json:"body" field:"format=text"`
}

func receipts() *Resource {
	return describe[IdempotencyRecord](definition{name: "receipts", label: "Idempotency record", read: []Role{}})
}

// Secret is a key that an inventory has made for itself, such as the one that signs
// tokens. It is no resource of clients.
type Secret struct {
	Base
	Name  string `json:"name" field:"required,unique,max=100"`
	Value string `json:"value" field:"required,max=1000"`
}

func secrets() *Resource {
	return describe[Secret](definition{name: "secrets", label: "Secret", read: []Role{}})
}
