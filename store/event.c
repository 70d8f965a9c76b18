int event_todo(void);
int event_todo(void) { return 0; }
