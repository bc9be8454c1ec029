package store

func child(task string) int { return 0 }
