int core_todo(void);
int core_todo(void) { return 0; }
