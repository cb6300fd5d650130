#include "generate/request.hpp"

#include "kv/row_assembler.hpp"

namespace pergola {

Request::Request(uint64_t number, RequestInput given, size_t vocab_size)
    : id(number), input(std::move(given)), tokens(input.prompt), guidance_tokens(input.guidance_prompt), sampler(input.sampling, vocab_size) {
    sampler.see_prompt(input.prompt.data(), input.prompt.size());
    sequence.prompt_size = input.prompt.size();
    sequence.position_axes = input.position_axes;
    sequence.positions = std::move(input.positions);
    sequence.position_delta = input.position_delta;
    for (auto& [rows, key] : input.rows) {
        place_rows(tokens, rows.start, rows.count, key);
        sequence.rows.push_back(std::move(rows));
    }
    input.rows.clear();
}

}  // namespace pergola
