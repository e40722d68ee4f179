// Balls that fly about are drawn. The host moves them, and copies each to the GPU as soon as it has moved. Repaired: all are put together in
// page-locked memory, and copied at once.
#include "steps.cuh"

enum { WIDTH = 1920, HEIGHT = 1080, BALLS = 384, FRAMES = 3, BUFFERS = 4 };

struct Ball {
    float x, y, z, radius, colour[3], shine;
};

__global__ void draw(const Ball *balls, uchar4 *picture)
{
    int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 8 + threadIdx.y, found = -1;
    float dx = (x - WIDTH / 2) / (float)WIDTH, dy = (y - HEIGHT / 2) / (float)WIDTH, scale = rsqrtf(dx * dx + dy * dy + 1), nearest = 1e30f;

    for (int i = 0; i < BALLS; i++) {
        Ball ball = balls[i];
        float along = (ball.x * dx + ball.y * dy + ball.z) * scale;
        float rest = along * along - (ball.x * ball.x + ball.y * ball.y + ball.z * ball.z) + ball.radius * ball.radius;
        if (rest > 0 && along - sqrtf(rest) < nearest) {
            nearest = along - sqrtf(rest);
            found = i;
        }
    }
    uchar4 colour = {0, 0, 0, 255};
    if (found >= 0) {
        Ball ball = balls[found];
        float light = fmaxf(0.0f, (ball.z - nearest * scale) / ball.radius) * ball.shine;
        colour = make_uchar4(255 * ball.colour[0] * light, 255 * ball.colour[1] * light, 255 * ball.colour[2] * light, 255);
    }
    picture[y * WIDTH + x] = colour;
}

struct Scene : Program {
    bool fixed;
    std::vector<Ball> balls = std::vector<Ball>(BALLS);
    Ball *on_gpu = device_array<Ball>(BALLS), *sent[BUFFERS];
    uchar4 *picture = device_array<uchar4>(WIDTH * HEIGHT);
    cudaEvent_t copied[BUFFERS];
    int frame = 0;

    Scene(bool is_fixed) : fixed(is_fixed)
    {
        for (int i = 0; i < BALLS; i++)
            balls[i] = {(i % 24 - 12) / 8.0f, (i / 24 - 8) / 12.0f, 3.0f + i % 7, 0.12f, {i % 3 / 2.0f, i % 5 / 4.0f, i % 7 / 6.0f}, 0.9f};
        for (int i = 0; i < BUFFERS; i++) {
            check(cudaMallocHost(&sent[i], BALLS * sizeof *sent[i]));
            check(cudaEventCreateWithFlags(&copied[i], cudaEventDisableTiming));
        }
    }

    ~Scene() override
    {
        for (int i = 0; i < BUFFERS; i++) {
            cudaFreeHost(sent[i]);
            cudaEventDestroy(copied[i]);
        }
        cudaFree(on_gpu);
        cudaFree(picture);
    }

    void move(Ball &ball, int number)
    {
        ball.x += 0.01f * ((frame + number) % 64 < 32 ? 1 : -1);
        ball.y += 0.01f * ((frame + 3 * number) % 64 < 32 ? 1 : -1);
    }

    void move_each()
    {
        for (int i = 0; i < BALLS; i++) {
            move(balls[i], i);
            check(cudaMemcpyAsync(&on_gpu[i], &balls[i], sizeof balls[i], cudaMemcpyHostToDevice)); // FAULT
        }
    }

    void move_all()
    {
        int number = frame % BUFFERS;

        check(cudaEventSynchronize(copied[number]));
        for (int i = 0; i < BALLS; i++) {
            move(balls[i], i);
            sent[number][i] = balls[i];
        }
        check(cudaMemcpyAsync(on_gpu, sent[number], BALLS * sizeof *on_gpu, cudaMemcpyHostToDevice));
        check(cudaEventRecord(copied[number]));
    }

    void step(int) override
    {
        for (int i = 0; i < FRAMES; i++) {
            if (fixed)
                move_all();
            else
                move_each(); // SEEN
            draw<<<dim3(WIDTH / 32, HEIGHT / 8), dim3(32, 8)>>>(on_gpu, picture);
            frame++;
        }
        check(cudaGetLastError());
    }
};

int main(int argc, char **argv)
{
    return run_steps(argc, argv, [](bool fixed) -> Program * { return new Scene(fixed); });
}
