package page

// MarshalText writes the canonical form.
func (u URL) MarshalText() ([]byte, error) { return []byte(u.s), nil }

// UnmarshalText reads what MarshalText wrote.
func (u *URL) UnmarshalText(b []byte) error {
	if len(b) == 0 {
		*u = URL{}
		return nil
	}
	got, err := Parse(string(b))
	*u = got
	return err
}
