# Builds SQLite from its one file, and some tools of the crate's folder beside it.
CFLAGS = -O1 -DSQLITE_ENABLE_FTS5 -DSQLITE_ENABLE_RTREE -DSQLITE_THREADSAFE=1
objects = sqlite3.o hash.o lines.o words.o options.o

libtools.a: $(objects)
	ar rcs $@ $(objects)

sqlite3.o: $(SOURCE)/sqlite3.c
	cc $(CFLAGS) -c -o $@ $<

%.o: %.c
	cc $(CFLAGS) -c -o $@ $<
