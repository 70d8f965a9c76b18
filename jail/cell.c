int cell_todo(void);
int cell_todo(void) { return 0; }
