package stdioguard

// maxID bounds the raw text of an id. It comes back in the reply, which must
// fit even where it stands for one that does not.
const maxID = 1024

// sniffName is longer than any name that an idSniffer looks for.
const sniffName = 8

// An idSniffer looks for the id of a message in a line that cannot be decoded:
// one that is malformed, too deep, or longer than what is kept of it. It sees
// the line in pieces and keeps a fixed number of bytes.
//
// It believes the line's quotes and brackets, and takes the first top-level
// member named "id" of the first value. So it can be wrong about a malformed
// line, and its caller must be prepared for that.
type idSniffer struct {
	depth   int
	quoted  bool // inside a string
	escaped bool // behind a backslash in it
	done    bool // the first value has ended, or is no object

	wantName bool // at the top level, a name is due
	inName   bool
	name     [sniffName]byte
	nameLen  int // may exceed sniffName: then the name is none of ours

	inID  bool
	idEnd bool // the id's value is complete
	id    []byte

	method   bool // a member "method" was seen
	response bool // a member "result" or "error" was seen
}

// feed looks at the next piece of the line.
func (s *idSniffer) feed(b []byte) {
	for _, c := range b {
		if s.done {
			return
		}
		s.step(c)
	}
}

func (s *idSniffer) step(c byte) {
	if s.inID {
		s.keepID(c)
	}
	if s.quoted {
		s.inString(c)
		return
	}
	switch c {
	case ' ', '\t', '\r', '\n':
	case '"':
		s.quoted = true
		if s.wantName {
			s.inName, s.nameLen = true, 0
		}
	case '{', '[':
		if s.depth == 0 && c == '[' {
			s.done = true
			return
		}
		s.depth++
		s.wantName = s.depth == 1
	case '}', ']':
		s.depth--
		s.done = s.depth <= 0
	case ',':
		s.wantName = s.depth == 1
	case ':':
		if s.depth == 1 && s.nameLen > 0 {
			s.member()
		}
	default:
		s.done = s.depth == 0
	}
}

// inString handles a byte of a string that is already open.
func (s *idSniffer) inString(c byte) {
	switch {
	case s.escaped:
		s.escaped = false
	case c == '\\':
		s.escaped = true
	case c == '"':
		s.quoted = false
		if s.inName {
			s.inName, s.wantName = false, false
		}
		return
	}
	if s.inName {
		if s.nameLen < sniffName {
			s.name[s.nameLen] = c
		}
		s.nameLen++
	}
}

// member is called at the colon behind a top-level name.
func (s *idSniffer) member() {
	n := min(s.nameLen, sniffName)
	switch string(s.name[:n]) {
	case "id":
		if s.id == nil {
			s.inID, s.id = true, make([]byte, 0, 32)
		}
	case "method":
		s.method = true
	case "result", "error":
		s.response = true
	}
	s.nameLen = 0
}

// keepID handles a byte of the value behind "id":.
func (s *idSniffer) keepID(c byte) {
	if !s.quoted && (c == ',' || c == '}' || c == ']') {
		s.inID, s.idEnd = false, true
		return
	}
	if len(s.id) == maxID || !s.quoted && (c == '{' || c == '[') {
		s.inID = false
		return
	}
	s.id = append(s.id, c)
}

// found returns the raw text of the id, or nil if there is none that may be
// answered: it must be a string or a number, and complete.
func (s *idSniffer) found() []byte {
	if !s.idEnd {
		return nil
	}
	id := s.id
	for len(id) > 0 && skipBlanks(id[len(id)-1:], 0) == 1 {
		id = id[:len(id)-1]
	}
	id = id[skipBlanks(id, 0):]
	if !isRawID(id) {
		return nil
	}
	return id
}

// isRawID reports whether b is the JSON text of a string or a number.
func isRawID(b []byte) bool {
	if len(b) == 0 {
		return false
	}
	scan := scanNumber
	if b[0] == '"' {
		scan = scanString
	}
	end, err := scan(b, 0)
	return err == nil && end == len(b)
}
