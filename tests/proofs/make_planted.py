#!/usr/bin/env python3
"""make_planted.py SOURCE_DIR OUT.cc: the planner with one bug planted, many times over.

Each bug is a small change to the text of src/plan/memory.cc with its offsets.cc, of src/plan/plan.cc or of src/plan/packing.cc.
Every copy gets a namespace of its own; planted.cc chooses which copy is called in place of the real one. A bug whose text is not
found exactly once is an error: the planner has changed and the bug must follow."""
import re
import sys

MEMORY, PLAN, PACKING = 'src/plan/memory.cc', 'src/plan/plan.cc', 'src/plan/packing.cc'
FILES = {MEMORY: ['src/plan/offsets.cc', MEMORY], PLAN: [PLAN], PACKING: [PACKING]}
BUGS = [
    # Offsets.
    ('blocks_that_end_where_another_begins_may_overlap', MEMORY, 'blocks_[j].first > block.last', 'blocks_[j].first >= block.last'),
    ('blocks_that_begin_where_another_ends_may_overlap', MEMORY, 'block.first > blocks_[j].last', 'block.first >= blocks_[j].last'),
    ('a_gap_of_half_the_size_will_do', MEMORY, 'begin - at >= block.bytes', 'begin - at >= block.bytes / 2'),
    ('the_end_of_a_nested_block_hides_a_longer_one', MEMORY, 'at = std::max(at, end);', 'at = end;'),
    ('the_arena_ends_before_its_last_block', MEMORY, 'total = std::max(total, block.offset + block.bytes);',
     'total = std::max(total, block.offset);'),
    ('some_blocks_are_forgotten_once_placed', MEMORY, 'placed.add(i);', 'if (i % 5 != 0) placed.add(i);'),
    ('the_smaller_arena_is_announced_but_not_used', MEMORY, '      best = attempt;\n', ''),
    ('blocks_get_half_their_size', MEMORY, 'with_room(roots_[r].bytes) : roots_[r].bytes;',
     'with_room(roots_[r].bytes) : roots_[r].bytes / 2;'),
    # Lifetimes.
    ('only_the_first_reader_counts', MEMORY, 'if (input.present()) last_read_[input.node][input.slot] = s;',
     'if (input.present() && last_read_[input.node][input.slot] == 0) last_read_[input.node][input.slot] = s;'),
    ('operands_of_a_fused_program_are_not_read', MEMORY, 'if (!step.epilogue) continue;', 'continue;'),
    ('outputs_need_not_live_to_the_end', MEMORY, 'last_read_[output.outlet.node][output.outlet.slot] = kNever;', ''),
    ('a_view_does_not_keep_its_memory_alive', MEMORY,
     'roots_[root].last = std::max(roots_[root].last, last_read(outlet));', ''),
    ('results_live_from_the_step_after', MEMORY,
     '      own(out, {Place::Kind::arena, 0, bytes_of(graph_.fact(out)), s, std::max(s, last_read(out))});\n    }\n',
     '      own(out, {Place::Kind::arena, 0, bytes_of(graph_.fact(out)), s + 1, std::max(s, last_read(out))});\n    }\n'),
    ('results_that_nobody_reads_have_no_time', MEMORY,
     '      own(out, {Place::Kind::arena, 0, bytes_of(graph_.fact(out)), s, std::max(s, last_read(out))});\n    }\n',
     '      own(out, {Place::Kind::arena, 0, bytes_of(graph_.fact(out)), s, last_read(out)});\n    }\n'),
    ('a_fused_result_lives_from_the_step_after', MEMORY,
     '      own(out, {Place::Kind::arena, 0, bytes_of(graph_.fact(out)), s, std::max(s, last_read(out))});\n      return',
     '      own(out, {Place::Kind::arena, 0, bytes_of(graph_.fact(out)), s + 1, std::max(s, last_read(out))});\n      return'),
    ('a_fused_result_dies_at_once', MEMORY,
     '      own(out, {Place::Kind::arena, 0, bytes_of(graph_.fact(out)), s, std::max(s, last_read(out))});\n      return',
     '      own(out, {Place::Kind::arena, 0, bytes_of(graph_.fact(out)), s, s});\n      return'),
    # Views.
    ('views_start_at_their_memorys_start', MEMORY, 'wire(outlet) = {root, offset};', 'wire(outlet) = {root, 0};'),
    ('a_view_of_a_view_forgets_where_the_first_began', MEMORY, 'from.offset + offsets[slot]', 'offsets[slot]'),
    ('a_view_begins_where_its_input_does', MEMORY, 'from.offset + offsets[slot]', 'from.offset'),
    # Results in place of inputs.
    ('any_operator_may_work_in_place', MEMORY, 'slot == 0 && node.op().inplace && take_over', 'slot == 0 && take_over'),
    ('an_input_that_is_read_later_is_taken_over', MEMORY, ' || root.last != s ||', ' ||'),
    ('a_part_of_a_memory_is_taken_over', MEMORY,
     ' || from.offset != 0) continue;\n      if (fact.type != out.type || root.bytes != bytes_of(out) ||',
     ') continue;\n      if (fact.type != out.type ||'),
    ('memory_of_the_caller_is_taken_over', MEMORY,
     'if (root.kind != Place::Kind::arena || root.last != s || from.offset != 0) continue;',
     'if ((root.kind == Place::Kind::arena && root.last != s) || root.kind == Place::Kind::late || from.offset != 0) continue;'),
    ('memory_is_taken_over_by_another_input', MEMORY, 'if (readers != same) continue;', ''),
    # Joins.
    ('parts_are_joined_along_any_axis', MEMORY, 'std::optional<size_t> at = node.op().joins(node.resolved.get(), call, i);',
     'std::optional<size_t> at = i * bytes;'),
    ('all_parts_begin_at_the_start', MEMORY, 'wire(one).offset += *at;', 'wire(one).offset += 0;'),
    ('a_part_may_begin_inside_of_its_memory', MEMORY, ' || from.offset != 0 ||\n          root.bytes != bytes', ' ||\n          root.bytes < bytes'),
    ('a_joined_result_begins_with_its_last_part', MEMORY, 'roots_[into].first = std::min(roots_[into].first, root.first);', ''),
    ('a_joined_result_dies_before_its_parts', MEMORY, 'roots_[into].last = std::max(roots_[into].last, root.last);',
     'roots_[into].last = std::min(roots_[into].last, root.last);'),
    ('views_of_a_part_stay_where_they_were', MEMORY, 'wire(one).offset += *at;', 'wire(one).offset = *at;'),
    ('memory_of_the_caller_is_joined', MEMORY, 'if (!at || root.kind != Place::Kind::arena || from.root == into', 'if (!at || root.kind == Place::Kind::late || from.root == into'),
    # Outputs.
    ('an_output_has_the_memory_of_a_larger_one', MEMORY, ' && root.bytes == bytes_of(fact)) {', ') {'),
    ('every_output_is_the_first', MEMORY, 'root.index = uint32_t(i);', 'root.index = 0;'),
    ('an_output_is_computed_into_an_input', MEMORY, 'if (root.kind == Place::Kind::arena && from.offset == 0',
     'if (root.kind != Place::Kind::late && from.offset == 0'),
    ('outputs_are_copied_from_the_start', MEMORY, 'plan.copied_outputs[i] = plan.places[outlet.node][outlet.slot];',
     'plan.copied_outputs[i] = plan.places[outlet.node][outlet.slot];\n    plan.copied_outputs[i].offset = 0;'),
    # Scratch memory.
    ('scratch_lives_at_the_next_step', MEMORY, '{aligned_bytes(room ? with_room(bytes) : bytes), s, s}',
     '{aligned_bytes(room ? with_room(bytes) : bytes), s + 1, s + 1}'),
    ('scratch_has_no_size', MEMORY, '{aligned_bytes(room ? with_room(bytes) : bytes), s, s}', '{0, s, s}'),
    ('scratch_is_always_at_the_start', MEMORY, 'plan.steps[s].scratch_offset = layout.scratch[s].offset;',
     'plan.steps[s].scratch_offset = 0;'),
    ('offsets_within_a_memory_are_lost', MEMORY, 'place.offset += root.offset', 'place.offset = root.offset'),
    # Programs inside of products, and weights that were packed.
    ('an_operand_may_come_after_the_product', PLAN, ' ||\n                 step_of[input.node] < s;', ' || true;'),
    ('a_product_that_is_an_output_is_fused', PLAN, ' || step.late ||\n        is_output[step.node])', ' || step.late)'),
    ('weights_that_are_still_read_are_given_back', PACKING, '!is_packed(packed, i)) needed',
     '!is_packed(packed, i) && inputs[i].node % 2 == 0) needed'),
]


def copy_of(text, number):
    text = re.sub(r'^#.*\n', '', text, flags=re.M)
    text = text.replace('namespace sdx::plan {', f'namespace sdx::plan::planted_{number} {{')
    for name in ('assign_offsets', 'most_live_bytes'):
        text = re.sub(rf'\b{name}\b', f'{name}_{number}', text)
    return text


def main():
    source, out = sys.argv[1], sys.argv[2]
    texts = {path: ''.join(open(f'{source}/{one}').read() for one in files) for path, files in FILES.items()}
    includes = sorted({line for text in texts.values() for line in re.findall(r'^#include .*$', text, flags=re.M)})
    stale = [f'{name}: {texts[path].count(old)} times in {path}' for name, path, old, _ in BUGS if texts[path].count(old) != 1]
    if stale:
        sys.exit('planted bugs whose place is not found once:\n  ' + '\n  '.join(stale))
    with open(out, 'w') as file:
        print('// Made by make_planted.py.', *includes, '#include "planted.h"', sep='\n', file=file)
        for number, (_, path, old, new) in enumerate(BUGS):
            print(copy_of(texts[path].replace(old, new), number), file=file)
        print('namespace sdx::proofs {\nconst std::vector<Bug>& bugs() {\n  static const std::vector<Bug> kBugs = {', file=file)
        for number, (name, path, _, _) in enumerate(BUGS):
            mine = [f'&plan::planted_{number}::{function}' if path == of else 'nullptr' for function, of in
                    (('lay_out', MEMORY), ('place_wires', MEMORY), ('choose_steps', PLAN), ('forget_packed', PACKING))]
            print(f'      {{"{name}", {", ".join(mine)}}},', file=file)
        print('  };\n  return kBugs;\n}\n}  // namespace sdx::proofs', file=file)


main()
