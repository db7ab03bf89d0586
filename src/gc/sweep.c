/* SPDX-License-Identifier: MIT
 *
 * Sweeping: what is other white is freed, what is not becomes current white.
 * Also freeing by kind, and freeing everything at close. Owns heap->sweep.
 *
 * heap->sweep is the link that is looked at next: the `next` of an object
 * that has been swept and lives, so that births, which go to the head of
 * `all`, never lie ahead of it. gc_sweep_enter sees to it by sweeping up to
 * the first live object; there is one, for the main thread is in `all`.
 * Behind it nothing is other white [tricolour.other-white].
 *
 * Order matters in one place: lists run from the newest object to the
 * oldest, and an open upvalue is younger than its thread. So a dead upvalue
 * can leave the list of its thread, which is still there, and a dead thread
 * finds only living upvalues to close.
 */
#include "gc/heap.h"

#include "gc/gc_assert.h"

static void
string_free(struct gc_heap *heap, struct gc_string *string)
{
  size_t size = gc_object_size(&string->head);

  if (string->head.kind == GC_KIND_STRING_SHORT) {
    if (!GC_FAULTY(heap, STRING_STAYS_INTERNED)) {
      gc_string_unlink(heap, string);
    }
  } else if (GC_FAULTY(heap, STRING_FREE_SIZE)) {
    size = string->length;
  }
  gc_memory_resize(heap, string, size, 0);
}

static void
upvalue_free(struct gc_heap *heap, struct gc_upvalue *upvalue)
{
  if (gc_upvalue_is_open(upvalue) && !GC_FAULTY(heap, OPEN_UPVALUE_STAYS)) {
    gc_upvalue_unlink(upvalue);
  }
  gc_memory_resize(heap, upvalue, sizeof(*upvalue), 0);
}

/* The caller has taken the object out of its list: the choke point of
 * deaths. */
void
gc_object_free(struct gc_heap *heap, struct gc_object *object)
{
  GC_ASSERT(!(object->mark & GC_MARK_AWAITED));
  if (heap->listener != NULL) {
    gc_tell(heap, &(struct gc_event){ .type = GC_EVENT_DEATH,
                                      .object = object,
                                      .from = gc_colour_of(heap, object) });
  }
  switch ((enum gc_kind)object->kind) {
  case GC_KIND_STRING_SHORT:
  case GC_KIND_STRING_LONG:
    string_free(heap, (struct gc_string *)object);
    return;
  case GC_KIND_TABLE:
    gc_table_free(heap, (struct gc_table *)object);
    return;
  case GC_KIND_THREAD:
    gc_thread_free(heap, (struct gc_thread *)object);
    return;
  case GC_KIND_PROTOTYPE:
    gc_prototype_free(heap, (struct gc_prototype *)object);
    return;
  case GC_KIND_UPVALUE:
    upvalue_free(heap, (struct gc_upvalue *)object);
    return;
  case GC_KIND_USERDATA:
  case GC_KIND_NATIVE_CLOSURE:
  case GC_KIND_CLOSURE:
    gc_memory_resize(heap, object, gc_object_size(object), 0);
    return;
  case GC_KIND_COUNT:
    break;
  }
}

void
gc_free_first(struct gc_heap *heap, struct gc_object **list)
{
  struct gc_object *object = *list;

  *list = object->next;
  gc_object_free(heap, object);
}

/* A survivor. It is on no grey list: those were emptied before the sweep. */
static void
whiten(struct gc_heap *heap, struct gc_object *object)
{
  GC_ASSERT(!(object->mark & GC_MARK_AWAITED));
  if (GC_FAULTY(heap, SURVIVOR_BLACK) && object->kind == GC_KIND_TABLE) {
    return;
  }
  gc_set_colour(heap, object,
                GC_FAULTY(heap, SWEEP_OTHER_WHITE) ? GC_WHITE_OTHER
                                                   : GC_WHITE_CURRENT);
}

/* The faults that mistreat what comes after a dead object, whose place in the
 * list link is. Gives the link to go on with. */
static struct gc_object **
after_dead(struct gc_heap *heap, struct gc_object **link)
{
  struct gc_object *next = *link;

  if (next == NULL || next == &heap->main->head) {
    return link;
  }
  if (GC_FAULTY(heap, SWEEP_FREES_LIVE) && !gc_is_dead(heap, next)) {
    gc_free_first(heap, link);
  } else if (GC_FAULTY(heap, SWEEP_SKIPS)) {
    return &next->next;
  }
  return link;
}

size_t
gc_sweep_some(struct gc_heap *heap, size_t limit)
{
  struct gc_object **link = heap->sweep;
  size_t count = 0;

  for (; *link != NULL && count < limit; count++) {
    if (gc_is_dead(heap, *link)) {
      gc_free_first(heap, link);
      link = after_dead(heap, link);
    } else {
      whiten(heap, *link);
      link = &(*link)->next;
    }
  }
  heap->sweep = *link == NULL ? NULL : link;
  return count;
}

void
gc_sweep_enter(struct gc_heap *heap)
{
  gc_set_phase(heap, GC_PHASE_SWEEP);
  heap->sweep = &heap->all;
  do {
    gc_sweep_some(heap, 1);
  } while (heap->sweep == &heap->all);
}

/* ---- at close -------------------------------------------------------- */

static void
free_list(struct gc_heap *heap, struct gc_object **list)
{
  while (*list != NULL) {
    gc_free_first(heap, list);
  }
}

void
gc_sweep_everything(struct gc_heap *heap)
{
  if (gc_keeps_invariant(heap)) {
    gc_mark_abandon(heap);
  }
  heap->sweep = NULL;
  heap->open_threads = NULL;
  free_list(heap, &heap->all);
  free_list(heap, &heap->finalizable);
  free_list(heap, &heap->pending);
  if (!GC_FAULTY(heap, CLOSE_LEAKS_FIXED)) {
    free_list(heap, &heap->fixed);
  }
}
